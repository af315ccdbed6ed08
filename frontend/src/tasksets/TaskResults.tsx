/** What came of one task in all jobs on its set: a line a job, its repeats side by side, and whether it was the same task then. */
import { Link } from "react-router";
import { resultsQuery } from "../api/queries";
import type { TaskResult, TasksetOut } from "../api/types";
import { cellOf } from "../runs/words";
import { count, reward } from "../ui/formats";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { Mark } from "../ui/Reward";
import { Time } from "../ui/Time";
import { useRows } from "../ui/useRows";
import { byJob, meanOf } from "./results";
import type { JobResults } from "./results";

const SHOWN_REPEATS = 32;

export function TaskResults({ set, reference, slug, start }: { set: TasksetOut; reference: string; slug: string; start: string }) {
  const results = useRows(resultsQuery(reference, slug));
  return (
    <section className="card" aria-label="Results">
      <header>
        <h2>Results in all jobs</h2>
      </header>
      {results.error && <Failed what="Could not load the results" error={results.error} retry={results.retry} />}
      {results.loading && <Skeleton rows={3} />}
      {!results.loading && !results.error && results.rows.length === 0 && (
        <Empty title="No job has run this task yet" action={<Link className="btn" to={start}>Run this task</Link>} command={`hud eval ${set.name} MODEL --full`} />
      )}
      {results.rows.length > 0 && (
        <table className="table tight">
          <thead>
            <tr>
              <th scope="col">Job</th>
              <th scope="col" style={{ width: 150 }}>Repeats</th>
              <th scope="col" className="num" style={{ width: 64 }}>Mean</th>
              <th scope="col" className="num" style={{ width: 120 }}>When</th>
            </tr>
          </thead>
          <tbody>
            {byJob(results.rows).map((job) => (
              <JobLine key={job.id} job={job} />
            ))}
          </tbody>
        </table>
      )}
      {results.more && (
        <button type="button" className="btn ghost m-2" disabled={results.loadingMore} onClick={results.more}>
          Older results
        </button>
      )}
    </section>
  );
}

function JobLine({ job }: { job: JobResults }) {
  const mean = meanOf(job.runs);
  return (
    <tr>
      <td>
        <span className="flex min-w-0 items-center gap-2">
          <Link className="stretch truncate" to={`/jobs/${job.id}`}>
            {job.name}
          </Link>
          {job.version !== null && <span className="tag">v{job.version}</span>}
          {job.isSame === false && (
            <span className="tag warn" title="The task held something else when this job ran it">
              other content
            </span>
          )}
        </span>
        {job.model && <span className="block truncate text-12 text-text-3">{job.model}</span>}
      </td>
      <td>
        <span className="flex flex-wrap gap-1">
          {job.runs.slice(0, SHOWN_REPEATS).map((run) => (
            <Repeat key={run.id} run={run} />
          ))}
          {job.runs.length > SHOWN_REPEATS && <span className="text-12 text-text-3">+{count(job.runs.length - SHOWN_REPEATS)}</span>}
        </span>
      </td>
      <td className="num" title={mean === null ? "no reward" : String(mean)}>{reward(mean)}</td>
      <td className="num text-text-2"><Time at={job.at} /></td>
    </tr>
  );
}

function Repeat({ run }: { run: TaskResult }) {
  const cell = cellOf(run);
  const word = `Repeat ${run.repeat + 1}: ${cell.word}`;
  return (
    <Link to={`/trace/${run.id}`} aria-label={word} title={run.error ? `${word}: ${run.error}` : word}>
      <Mark cell={cell} />
    </Link>
  );
}
