/** All imports of a taskset, running ones first. */
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { ImportOut } from "../api/types";
import type { TabProps } from "../tasksets/tabs";
import { ABSENT, bytes, count } from "../ui/formats";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { Time } from "../ui/Time";
import { useRows } from "../ui/useRows";
import type { Column } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";
import { isRunning, newImport, placeOf, reportPath } from "./paths";
import { importsQuery } from "./queries";
import { ImportState } from "./words";

const POLL_MS = 2000;

const COLUMNS: Column<ImportOut>[] = [
  {
    name: "File",
    className: "on-phone",
    cell: (one) => (
      <Link className="stretch" to={one.status === "checked" || one.status === "ready" ? placeOf(one) : reportPath(one)}>
        {one.filename}
      </Link>
    ),
  },
  { name: "State", width: 190, className: "on-phone", cell: (one) => <ImportState found={one} /> },
  { name: "Rows", width: 100, className: "num", cell: (one) => (one.rows_total === null ? ABSENT : count(one.rows_total)) },
  { name: "Errors", width: 90, className: "num", cell: (one) => (one.errors_total === null ? ABSENT : count(one.errors_total)) },
  { name: "Outcome", width: 200, className: "on-phone wide", cell: (one) => <Outcome found={one} /> },
  { name: "Size", width: 90, className: "num", cell: (one) => bytes(one.size_bytes) },
  { name: "Who", width: 140, cell: (one) => <span className="text-text-2">{one.created_by ?? "system"}</span> },
  { name: "Begun", width: 150, className: "num", cell: (one) => <span className="text-text-2"><Time at={one.created_at} /></span> },
];

function Outcome({ found }: { found: ImportOut }): ReactNode {
  const { result } = found;
  if (!result) return <span className="text-text-3">{ABSENT}</span>;
  return (
    <span className="tnum text-text-2">
      {result.version_number !== null && <b className="font-medium text-text">v{result.version_number} </b>}+{count(result.created)} ~{count(result.updated)} −{count(result.removed)}
    </span>
  );
}

export default function Imports({ set }: TabProps) {
  const imports = useRows(importsQuery(set.id), { refetchInterval: POLL_MS });
  if (imports.error) return <Failed what="Could not load the imports" error={imports.error} retry={imports.retry} />;
  if (imports.loading) return <Skeleton />;
  const running = imports.rows.filter(isRunning).length;
  return (
    <>
      <p className="sr-only" aria-live="polite">
        {running ? `${count(running)} running` : ""}
      </p>
      <VirtualTable
        label="Imports"
        rows={imports.rows}
        columns={COLUMNS}
        keyOf={(one) => one.id}
        more={imports.more}
        loadingMore={imports.loadingMore}
        minWidth={980}
        empty={
          <Empty title="No imports yet" action={<Link className="btn" to={newImport(set.id)}>Import a file</Link>} command={`hud harbor import FOLDER --taskset ${set.name}`}>
            Each file that is brought in is listed here, with what it changed and what was wrong with it.
          </Empty>
        }
      />
    </>
  );
}
