/** Jobs as rows: what ran, what came out, what went wrong. Live through the team's feed; rows keep their order. */
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { JobOut } from "../api/types";
import { ABSENT, between, count, duration, percent } from "../ui/formats";
import { Bar, ended } from "../ui/Progress";
import { Gauge } from "../ui/Reward";
import { State } from "../ui/State";
import { Time } from "../ui/Time";
import type { Rows } from "../ui/useRows";
import type { Column } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";
import { jobState } from "./words";

export function JobState({ job }: { job: JobOut }) {
  const said = jobState(job);
  return <State kind={said.kind}>{said.word}</State>;
}

/** `unsandboxed` and `reported` are said wherever a result is. */
export function JobTags({ job }: { job: JobOut }) {
  return (
    <>
      {job.sandbox === "subprocess" && (
        <span className="tag bad" title="Ran as plain processes on the server, without containers.">
          unsandboxed
        </span>
      )}
      {job.source === "reported" && (
        <span className="tag" title="Ran elsewhere; an SDK reported it.">
          reported
        </span>
      )}
      {job.archived_at && <span className="tag warn">archived</span>}
    </>
  );
}

const COLUMNS: Column<JobOut>[] = [
  {
    name: "Job",
    className: "on-phone",
    cell: (job) => (
      <span className="flex min-w-0 items-center gap-2">
        <Link className="stretch truncate" to={`/jobs/${job.id}`}>
          {job.name}
        </Link>
        <JobTags job={job} />
      </span>
    ),
  },
  {
    name: "Taskset",
    width: 150,
    cell: (job) => (job.taskset ? <span className="text-text-2">{job.taskset.name}{job.taskset.version_number !== null && `@${job.taskset.version_number}`}</span> : <span title="loose tasks">{ABSENT}</span>),
  },
  { name: "Agent", width: 160, cell: (job) => <span className="text-text-2">{[job.model, job.agent_type].filter(Boolean).join(", ") || ABSENT}</span> },
  {
    name: "State",
    width: 150,
    className: "on-phone",
    cell: (job) => (
      <span className="flex items-center gap-2">
        <JobState job={job} />
        {job.counts.pending > 0 && (
          <span className="w-16">
            <Bar counts={job.counts} />
          </span>
        )}
      </span>
    ),
  },
  { name: "Runs", width: 100, className: "num", cell: (job) => (job.counts.pending > 0 ? `${count(ended(job.counts))} of ${count(job.counts.expected)}` : count(job.counts.expected)) },
  { name: "Mean", width: 88, className: "on-phone", cell: (job) => <Gauge value={job.mean_reward} decimals={3} why={job.counts.pending > 0 ? "no graded run yet" : "no graded run"} /> },
  { name: "Passed", width: 72, className: "num", cell: (job) => percent(job.pass_rate) },
  { name: "Failed", width: 60, className: "num", cell: (job) => (job.counts.failed > 0 ? <span className="font-medium text-bad">{count(job.counts.failed)}</span> : <span className="text-text-3">0</span>) },
  { name: "Wall", width: 76, className: "num", cell: (job) => <span className="text-text-2">{duration(between(job.started_at, job.ended_at))}</span> },
  { name: "Started", width: 110, className: "num on-phone", cell: (job) => <span className="text-text-2"><Time at={job.created_at} /></span> },
];

export function JobTable({ jobs, empty }: { jobs: Rows<JobOut>; empty: ReactNode }) {
  return <VirtualTable label="Jobs" rows={jobs.rows} columns={COLUMNS} keyOf={(job) => job.id} total={jobs.total} more={jobs.more} loadingMore={jobs.loadingMore} minWidth={1190} empty={empty} />;
}
