/** Pick up where things stand: what runs now, what ran last, and the first steps of a new team. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { jobsQuery, keysQuery, meQuery, tasksetsQuery, workersQuery } from "../api/queries";
import type { JobOut, TasksetOut } from "../api/types";
import { JobState, JobTags } from "../runs/JobTable";
import { LastMean } from "../tasksets/lastJob";
import { Command } from "../ui/Copy";
import { ABSENT, count, plural, reward } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { PageHead } from "../ui/Page";
import { Bar, ended } from "../ui/Progress";
import { Gauge } from "../ui/Reward";
import { State } from "../ui/State";
import { Age, Time } from "../ui/Time";
import { connectLines, hud, rest, UseFromCode } from "../ui/UseFromCode";
import type { Rows } from "../ui/useRows";
import { useRows } from "../ui/useRows";

export default function Home() {
  const me = useQuery(meQuery);
  const running = useRows(jobsQuery({ state: "running", limit: 50 }));
  const recent = useRows(jobsQuery({ limit: 10 }));
  const sets = useRows(tasksetsQuery({ limit: 5 }));
  return (
    <main id="main" className="page">
      <PageHead
        title="Home"
        meta={
          <>
            <span>{me.data?.team.title}</span>
            <span className="text-text-3">{location.host}</span>
          </>
        }
        actions={
          <>
            <UseFromCode snippets={[rest("/api/jobs?limit=10"), hud("hud jobs list")]} />
            <Link className="btn" to="/tasksets/import">
              <Icon name="upload" /> Upload tasks
            </Link>
            <Link className="btn" to="/environments?add">
              <Icon name="environment" /> Add environment
            </Link>
            <Link className="btn pri" to="/jobs/new">
              <Icon name="play" /> New job <kbd>n</kbd>
            </Link>
          </>
        }
      />
      <div className="grid items-start gap-4 px-6 pb-6 max-md:px-4 lg:grid-cols-[minmax(0,2.4fr)_minmax(280px,1fr)]">
        <div className="grid gap-4">
          <Running jobs={running} />
          <Recent jobs={recent} />
        </div>
        <div className="grid gap-4">
          <FirstSteps jobs={recent.rows} sets={sets.rows} />
          <Tasksets sets={sets} />
        </div>
      </div>
    </main>
  );
}

function Running({ jobs }: { jobs: Rows<JobOut> }) {
  const workers = useQuery(workersQuery);
  const slots = workers.data?.items.reduce((sum, worker) => sum + worker.slots, 0) ?? null;
  const busy = workers.data?.items.reduce((sum, worker) => sum + worker.busy, 0) ?? null;
  const queued = jobs.rows.reduce((sum, job) => sum + job.counts.queued, 0);
  const note = workers.data?.items.find((worker) => worker.sandbox === "subprocess")?.sandbox_note;
  return (
    <section className="card" aria-label="Running now">
      <header>
        <h2>Running now</h2>
        {jobs.rows.length > 0 && <span className="tag tnum">{plural(jobs.rows.length, "job")}</span>}
        <div className="acts">
          <Link className="text-12" to="/jobs">
            All jobs
          </Link>
        </div>
      </header>
      {jobs.error ? (
        <Failed what="Could not load what runs" error={jobs.error} retry={jobs.retry} />
      ) : jobs.loading ? (
        <Skeleton rows={2} />
      ) : jobs.rows.length === 0 ? (
        <p className="px-3.5 py-4 text-text-3">Nothing runs at the moment.</p>
      ) : (
        <ul>
          {jobs.rows.slice(0, 5).map((job) => (
            <li key={job.id} className="grid gap-1.5 border-b border-line px-3.5 py-3">
              <div className="flex items-center gap-2">
                <Link className="plain min-w-0 truncate font-semibold" to={`/jobs/${job.id}`}>
                  {job.name}
                </Link>
                <JobTags job={job} />
                <span className="grow" />
                <State kind="run">
                  <span className="tnum">
                    {count(ended(job.counts))} of {count(job.counts.expected)}
                  </span>
                </State>
              </div>
              <Bar counts={job.counts} />
              <div className="flex gap-3.5 text-12 text-text-2 tnum">
                {job.taskset && <span>{job.taskset.name}{job.taskset.version_number !== null && `@${job.taskset.version_number}`}</span>}
                <span>mean {reward(job.mean_reward, 3)}</span>
                {job.counts.failed > 0 && <span className="text-bad">{count(job.counts.failed)} failed</span>}
                <span className="grow" />
                <span className="text-text-3">
                  for <Age since={job.started_at} />
                </span>
              </div>
            </li>
          ))}
        </ul>
      )}
      <footer className="flex flex-wrap items-center gap-3 px-3.5 py-2.5 text-12 text-text-2">
        <Icon name="worker" />
        {workers.data?.items.length === 0 ? (
          <span className="text-warn">No worker is up: jobs wait until one is.</span>
        ) : (
          <>
            <span>{plural(workers.data?.items.length ?? 0, "worker")}</span>
            <div className="bar min-w-20 grow" role="img" aria-label={`${busy ?? 0} of ${slots ?? 0} slots in use`}>
              <i className="running" style={{ width: `${slots ? ((busy ?? 0) / slots) * 100 : 0}%` }} />
            </div>
            <span className="tnum">
              {count(busy)} of {count(slots)} slots, {plural(queued, "run")} queued
            </span>
          </>
        )}
        {note && (
          <span className="flex basis-full items-center gap-2">
            <span className="tag bad">unsandboxed</span> {note}
          </span>
        )}
      </footer>
    </section>
  );
}

function Recent({ jobs }: { jobs: Rows<JobOut> }) {
  return (
    <section className="card overflow-hidden" aria-label="Recent jobs">
      <header>
        <h2>Recent jobs</h2>
      </header>
      {jobs.error ? (
        <Failed what="Could not load recent jobs" error={jobs.error} retry={jobs.retry} />
      ) : jobs.loading ? (
        <Skeleton rows={5} />
      ) : jobs.rows.length === 0 ? (
        <Empty title="No job yet" action={<Link className="btn" to="/jobs/new">New job</Link>} command="hud eval TASKSET MODEL --full">
          A job runs every task of a taskset with one agent and shows how good it is.
        </Empty>
      ) : (
        <div className="overflow-x-auto" tabIndex={0} role="region" aria-label="Recent jobs table">
          <table className="table cards md:min-w-[680px]">
            <colgroup>
              <col />
              <col style={{ width: 130 }} />
              <col style={{ width: 110 }} />
              <col style={{ width: 70 }} />
              <col style={{ width: 90 }} />
              <col style={{ width: 70 }} />
              <col style={{ width: 130 }} />
            </colgroup>
            <thead>
              <tr>
                <th scope="col">Job</th>
                <th scope="col">Taskset</th>
                <th scope="col">State</th>
                <th scope="col" className="num">Runs</th>
                <th scope="col">Mean</th>
                <th scope="col" className="num">Failed</th>
                <th scope="col" className="num">Started</th>
              </tr>
            </thead>
            <tbody>
              {jobs.rows.map((job) => (
                <tr key={job.id}>
                  <td className="on-phone">
                    <span className="flex min-w-0 items-center gap-2">
                      <Link className="stretch truncate" to={`/jobs/${job.id}`}>
                        {job.name}
                      </Link>
                      <JobTags job={job} />
                    </span>
                  </td>
                  <td className="text-text-2">{job.taskset ? `${job.taskset.name}${job.taskset.version_number === null ? "" : `@${job.taskset.version_number}`}` : ABSENT}</td>
                  <td className="on-phone">
                    <JobState job={job} />
                  </td>
                  <td className="num text-text-2">{count(job.counts.expected)}</td>
                  <td className="on-phone">
                    <Gauge value={job.mean_reward} decimals={3} />
                  </td>
                  <td className="num">{job.counts.failed > 0 ? <span className="font-medium text-bad">{count(job.counts.failed)}</span> : <span className="text-text-3">0</span>}</td>
                  <td className="num on-phone text-text-2">
                    <Time at={job.created_at} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Tasksets({ sets }: { sets: Rows<TasksetOut> }) {
  return (
    <section className="card overflow-hidden" aria-label="Tasksets">
      <header>
        <h2>Tasksets</h2>
        <div className="acts">
          <Link className="text-12" to="/tasksets">
            All
          </Link>
        </div>
      </header>
      {sets.error ? (
        <Failed what="Could not load tasksets" error={sets.error} retry={sets.retry} />
      ) : sets.loading ? (
        <Skeleton rows={3} />
      ) : sets.rows.length === 0 ? (
        <p className="px-3.5 py-4 text-text-3">No taskset yet.</p>
      ) : (
        <ul>
          {sets.rows.map((set) => (
            <li key={set.id} className="border-b border-line last:border-0">
              <Link className="flex items-center gap-2.5 px-3.5 py-2 text-text hover:bg-hover hover:no-underline" to={`/tasksets/${set.id}`}>
                <Icon name="taskset" />
                <span className="min-w-0 grow leading-[17px]">
                  <span className="block truncate font-medium">{set.title}</span>
                  <span className="text-11 text-text-3">{set.head ? `${plural(set.head.task_count, "task")}, v${set.head.number}` : "nothing uploaded yet"}</span>
                </span>
                <LastMean taskset={set.id} />
              </Link>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Each step ticks itself off when it is done anywhere, the command line included. */
function FirstSteps({ jobs, sets }: { jobs: JobOut[]; sets: TasksetOut[] }) {
  const keys = useRows(keysQuery()).rows;
  const steps = [
    { done: jobs.some((job) => job.state === "completed"), text: "Watch the sample job", to: jobs.at(-1) ? `/jobs/${jobs.at(-1)?.id ?? ""}` : "/jobs" },
    { done: sets.length > 1, text: "Upload a taskset", to: "/tasksets/import" },
    { done: keys.some((key) => key.created_by !== null || key.last_used_at !== null), text: "Make an API key", to: "/settings/api-keys" },
    { done: keys.some((key) => key.last_used_at !== null), text: "Run from your terminal", to: null },
  ];
  const done = steps.filter((step) => step.done).length;
  if (done === steps.length) return null;
  return (
    <section className="card" aria-label="First steps">
      <header>
        <h2>First steps</h2>
        <span className="tag good tnum">
          {done} of {steps.length}
        </span>
      </header>
      <ul className="grid gap-2 p-3.5">
        {steps.map((step) => (
          <li key={step.text} className="grid gap-1">
            <span className="flex items-center gap-2.5">
              <State kind={step.done ? "ok" : "pen"}>
                <span className="sr-only">{step.done ? "done" : "to do"}</span>
              </State>
              {step.to && !step.done ? <Link to={step.to}>{step.text}</Link> : <span className={step.done ? "text-text-2" : ""}>{step.text}</span>}
            </span>
            {!step.to && !step.done && <Command label="commands" code={`${connectLines("…").split("\n").slice(0, 2).join("\n")}\nhud jobs list`} />}
          </li>
        ))}
      </ul>
    </section>
  );
}
