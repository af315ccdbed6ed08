/** What became of one import: its state, what it did, its errors, who and when; for task folders each one's outcome. The command line prints this address. */
import { useQuery } from "@tanstack/react-query";
import { Link, Navigate, useParams } from "react-router";
import type { FolderOutcome, ImportOut } from "../api/types";
import { Load } from "../shell/Load";
import { Id } from "../ui/Copy";
import { bytes, plural } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { Empty, Failed } from "../ui/Notices";
import { PageHead } from "../ui/Page";
import { State } from "../ui/State";
import type { StateKind } from "../ui/State";
import { Time } from "../ui/Time";
import { useRows } from "../ui/useRows";
import type { Column } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";
import { Errors } from "./Errors";
import { PlanView } from "./PlanView";
import { ProgressBar } from "./ProgressBar";
import { importsOf, newImport, outcomePath, placeOf } from "./paths";
import { foldersQuery, importQuery } from "./queries";
import { ImportState, LAYOUTS, MODES } from "./words";

export default function ReportPage() {
  const { import: id = "" } = useParams();
  const found = useQuery(importQuery(id));
  if (!found.data) return <Load what="import" error={found.error} retry={() => void found.refetch()} />;
  const here = found.data;
  const waits = here.status === "ready" || here.status === "checked" || here.status === "failed";
  if (!here.taskset && waits) return <Navigate to={placeOf(here)} replace />;
  return (
    <main id="main" className="page fill">
      <Head found={here} goOn={waits && here.folders_total === null ? placeOf(here) : null} />
      {here.note && (
        <div className="banner">
          <Icon name="environment" /> {here.note}
        </div>
      )}
      <div className="import-body">
        <div className="import-main">
          {here.status === "failed" && <Failed what={`${here.filename} was refused`} error={new Error(here.error ?? "It can’t be read.")} />}
          {(here.status === "checking" || here.status === "committing") && <Running found={here} />}
          {here.folders_total !== null ? <Folders found={here} /> : (here.errors_total ?? 0) > 0 ? <Errors found={here} onEdit={null} /> : here.status === "done" && <NoErrors />}
        </div>
        <Done found={here} />
      </div>
    </main>
  );
}

function Head({ found, goOn }: { found: ImportOut; goOn: string | null }) {
  const set = found.taskset;
  return (
    <PageHead
      title={`Import of ${found.filename}`}
      fullTitle={found.filename}
      trail={[{ to: "/tasksets", text: "Tasksets" }, ...(set ? [{ to: `/tasksets/${set}`, text: found.name ?? "taskset" }, { to: importsOf(set), text: "Imports" }] : [])]}
      state={<ImportState found={found} />}
      meta={
        <>
          <span className="tnum">
            <Icon name="file" /> {bytes(found.size_bytes)}, {found.format.toUpperCase()}, {LAYOUTS[found.layout]}
          </span>
          <span>
            <Icon name="user" /> {found.created_by ?? "system"}, <Time at={found.created_at} />
          </span>
          {found.ended_at && (
            <span>
              ended <Time at={found.ended_at} />
            </span>
          )}
          <Id id={found.id} what="import" />
        </>
      }
      actions={
        goOn ? (
          <Link className="btn pri" to={goOn}>
            Go on with it
          </Link>
        ) : (
          set && (
            <Link className="btn" to={newImport(set)}>
              <Icon name="upload" /> Import another file
            </Link>
          )
        )
      }
    />
  );
}

function Running({ found }: { found: ImportOut }) {
  return (
    <section className="card grid gap-2 p-3.5" aria-label="Progress" aria-live="polite">
      <ImportState found={found} />
      <ProgressBar label={found.status === "checking" ? "Check" : "Commit"} value={found.progress} max={1} />
    </section>
  );
}

const NoErrors = () => (
  <section className="card">
    <Empty title="No errors">Every row of the file was taken.</Empty>
  </section>
);

function Done({ found }: { found: ImportOut }) {
  const { result } = found;
  const verb = MODES.find(([mode]) => mode === result?.mode)?.[1];
  return (
    <section className="card self-start" aria-label="Outcome">
      <header>
        <h2>{result ? "What it did" : "What it would do"}</h2>
        {verb && <span className="text-12 text-text-3">{verb}</span>}
      </header>
      <div className="grid gap-2 p-3.5">
        {result ? (
          <PlanView plan={{ create: result.created, update: result.updated, unchanged: result.unchanged, remove: result.removed, refused: null, against: null }} errors={result.left_out} />
        ) : found.plan ? (
          <PlanView plan={found.plan} errors={(found.rows_total ?? 0) - (found.rows_good ?? 0)} />
        ) : (
          <p className="text-text-2">{found.status === "cancelled" ? "It was discarded before its commit; nothing was stored." : "Not known yet."}</p>
        )}
        {result && found.taskset && (
          <Link to={outcomePath(found.taskset, result)}>{result.previous_number ? `What changed from v${result.previous_number} to v${result.version_number ?? ""}` : "The tasks"}</Link>
        )}
      </div>
    </section>
  );
}

const OUTCOMES: Record<string, StateKind> = { imported: "ok", updated: "ok", unchanged: "pen", failed: "bad", skipped: "can" };

const COLUMNS: Column<FolderOutcome>[] = [
  { name: "Folder", className: "on-phone", cell: (folder) => <code title={folder.path}>{folder.path || folder.name}</code> },
  { name: "Outcome", width: 150, className: "on-phone", cell: (folder) => <State kind={OUTCOMES[folder.status] ?? "pen"}>{folder.status}</State> },
  {
    name: "Environment",
    width: 150,
    cell: (folder) => (folder.environment_id ? <Link to={`/environments/${folder.environment_id}`}>version {folder.build_version}</Link> : <span className="text-text-3">–</span>),
  },
  { name: "Why", width: "40%", className: "on-phone wide", cell: (folder) => <span title={folder.reason ?? undefined}>{folder.reason}</span> },
];

function Folders({ found }: { found: ImportOut }) {
  const folders = useRows(foldersQuery(found.id));
  return (
    <section className="card flow" aria-label="Folders">
      <header>
        <h2>Folders</h2>
        <span className="text-12 text-text-3 tnum">{plural(found.folders_total ?? 0, "folder")}</span>
      </header>
      {folders.error ? (
        <Failed what="Could not load the folders" error={folders.error} retry={folders.retry} />
      ) : (
        <VirtualTable label="Folders" rows={folders.rows} columns={COLUMNS} keyOf={(folder) => `${folder.status}-${folder.path}`} total={folders.total} more={folders.more} loadingMore={folders.loadingMore} minWidth={640} empty={<Empty title="No folders" />} />
      )}
    </section>
  );
}
