/** All runs of a job as a flat table, filtered by how they count. The rows are the live ones of the matrix. */
import { useMemo } from "react";
import { Link, useSearchParams } from "react-router";
import type { RunRow } from "../api/types";
import { ABSENT, between, count, duration, money, shortId } from "../ui/formats";
import { Empty } from "../ui/Notices";
import { Gauge } from "../ui/Reward";
import { Segments } from "../ui/Segments";
import { State } from "../ui/State";
import { Time } from "../ui/Time";
import type { Column } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";
import { IN_PLACE } from "../ui/useAddress";
import type { MatrixRow } from "./tally";
import { runState } from "./words";

const COUNTED = [
  ["", "All"],
  ["graded", "Graded"],
  ["failed", "Failed"],
  ["cancelled", "Cancelled"],
  ["pending", "Pending"],
] as const;

const COLUMNS: Column<RunRow>[] = [
  {
    name: "Task",
    width: 200,
    className: "on-phone",
    cell: (run) => (
      <Link className="stretch mono" to={`/trace/${run.id}`}>
        {run.slug ?? shortId(run.id)}
      </Link>
    ),
  },
  { name: "Repeat", width: 70, className: "num", cell: (run) => run.repeat + 1 },
  {
    name: "State",
    width: 160,
    className: "on-phone",
    cell: (run) => {
      const said = runState(run);
      return <State kind={said.kind}>{said.word}</State>;
    },
  },
  { name: "Reward", width: 90, className: "on-phone", cell: (run) => <Gauge value={run.reward} why={`no reward: ${run.counted}`} /> },
  { name: "Failure", className: "on-phone wide", cell: (run) => (run.counted === "failed" ? <span className="text-text-2" title={run.error ?? undefined}>{run.blame && `blamed on ${run.blame}: `}{run.error ?? run.failure_class}</span> : null) },
  { name: "Steps", width: 70, className: "num", cell: (run) => count(run.step_count) },
  { name: "Tokens", width: 90, className: "num", cell: (run) => count(run.total_tokens) },
  { name: "Cost", width: 80, className: "num", cell: (run) => money(run.cost_usd) },
  { name: "Time", width: 80, className: "num", cell: (run) => duration(between(run.started_at, run.ended_at)) },
  { name: "Attempt", width: 76, className: "num", cell: (run) => (run.attempt > 0 ? run.attempt : ABSENT) },
  { name: "Ended", width: 140, className: "num", cell: (run) => <span className="text-text-2"><Time at={run.ended_at} /></span> },
];

export function JobRuns({ rows }: { rows: MatrixRow[] }) {
  const [params, setParams] = useSearchParams();
  const counted = params.get("counted") ?? "";
  const runs = useMemo(() => rows.flatMap((row) => row.runs).filter((run) => !counted || run.counted === counted), [rows, counted]);
  return (
    <>
      <div className="flex items-center gap-3 border-b border-line px-6 py-2 max-md:px-4">
        <Segments label="Counted as" options={COUNTED} value={counted} onChange={(value) => setParams(value ? { counted: value } : {}, IN_PLACE)} />
        <span className="text-12 text-text-2 tnum">{count(runs.length)} runs</span>
      </div>
      <VirtualTable
        label="Runs"
        rows={runs}
        columns={COLUMNS}
        keyOf={(run) => run.id}
        minWidth={1180}
        empty={<Empty title={counted ? `No run is ${counted}` : "No run yet"} action={counted ? <button type="button" className="btn" onClick={() => setParams({})}>Show all</button> : undefined} />}
      />
    </>
  );
}
