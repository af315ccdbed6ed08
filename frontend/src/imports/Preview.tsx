/** The first rows of the file as the tasks they become, with what is wrong with them. */
import { useState } from "react";
import type { PreviewRow } from "../api/types";
import { promptOf } from "../tasksets/prompt";
import { count } from "../ui/formats";
import { Json } from "../ui/Json";
import { member } from "../ui/jsonText";
import { Empty } from "../ui/Notices";
import { Segments } from "../ui/Segments";
import { State } from "../ui/State";
import type { Column } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";

type View = "table" | "json";

export function Preview({ rows, stale }: { rows: PreviewRow[]; stale: boolean }) {
  const [view, setView] = useState<View>("table");
  const bad = rows.filter((row) => row.errors.length > 0).length;
  return (
    <section className="card flow" aria-label="First rows as tasks" aria-busy={stale}>
      <header>
        <h2>First rows as tasks</h2>
        {rows.length > 0 && <State kind={bad ? "warn" : "ok"}>{bad ? `${count(bad)} of ${count(rows.length)} with errors` : `all ${count(rows.length)} good`}</State>}
        <div className="acts">
          <Segments label="Preview as" options={[["table", "Table"], ["json", "JSON"]]} value={view} onChange={setView} />
        </div>
      </header>
      {rows.length === 0 ? (
        <Empty title="No rows" />
      ) : view === "table" ? (
        <VirtualTable label="First rows as tasks" rows={rows} columns={COLUMNS} keyOf={(row) => String(row.line)} minWidth={640} />
      ) : (
        <ul className="scroll grid gap-2 p-3" tabIndex={0} role="region" aria-label="First rows as JSON">
          {rows.map((row) => (
            <li key={row.line}>
              {row.task ? <Json text={row.task} label={`task of line ${row.line}`} /> : <RowFaults row={row} />}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

const COLUMNS: Column<PreviewRow>[] = [
  { name: "Line", width: 70, className: "num on-phone", cell: (row) => count(row.line) },
  { name: "Slug", width: 150, className: "on-phone", cell: (row) => <code>{textOf(row, "slug")}</code> },
  { name: "Environment", width: 120, cell: (row) => <span className="text-text-2">{textOf(row, "env")}</span> },
  { name: "Arguments", className: "on-phone wide", cell: (row) => (row.task ? <span className="text-text-2">{promptOf(member(row.task, "args") ?? "")}</span> : <RowFaults row={row} />) },
  { name: "Columns", width: 180, cell: (row) => <span className="mono text-text-2">{row.task ? member(row.task, "columns") : ""}</span> },
];

function textOf(row: PreviewRow, name: string): string {
  const text = row.task ? member(row.task, name) : null;
  return text?.startsWith('"') ? (JSON.parse(text) as string) : "";
}

function RowFaults({ row }: { row: PreviewRow }) {
  const first = row.errors[0];
  if (!first) return <span className="text-text-3">larger than 20 kB, not shown here</span>;
  return (
    <span className="text-bad" title={row.errors.map((one) => `${one.column ?? ""} ${one.rule}`.trim()).join("\n")}>
      {first.column && <code>{first.column}</code>} {first.rule}
      {row.errors.length > 1 && `, and ${count(row.errors.length - 1)} more`}
    </span>
  );
}
