/** How a Task App is, endpoint by endpoint; ask again, judge it, pull its tasks. Read again while the page is open. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { FormEvent } from "react";
import { Link } from "react-router";
import { api } from "../api/client";
import { taskAppQuery } from "../api/queries";
import type { EnvironmentOut, PullOut, TaskAppCheck, TaskAppOut, TaskAppReport } from "../api/types";
import { count, plural } from "../ui/formats";
import { Failed, Skeleton } from "../ui/Notices";
import { Dialog } from "../ui/Overlays";
import { State } from "../ui/State";
import { Time } from "../ui/Time";

export function TaskApp({ env }: { env: EnvironmentOut }) {
  const app = useQuery({ ...taskAppQuery(env.id), refetchInterval: 10_000 });
  if (app.error) return <Failed what="Could not load the Task App" error={app.error} retry={() => void app.refetch()} />;
  if (!app.data) return <Skeleton rows={5} />;
  return (
    <div className="grid min-w-0 content-start gap-4">
      <Endpoints app={app.data} />
      <Tasks app={app.data} />
      <Judged env={env} />
    </div>
  );
}

function Endpoints({ app }: { app: TaskAppOut }) {
  const client = useQueryClient();
  const ask = useMutation({
    mutationFn: () => api<TaskAppOut>(`/api/task-apps/${app.environment.id}/probe`, { method: "POST", repeatable: true }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["environments"] }),
  });
  const well = app.checks.filter((check) => check.ok).length;
  return (
    <section className="card" aria-label="Endpoints">
      <header>
        <h2>Endpoints</h2>
        <State kind={app.healthy ? "ok" : "bad"}>
          {well} of {count(app.checks.length)} answer
        </State>
        <div className="acts">
          <span className="text-12 text-text-3">
            asked <Time at={app.checked_at} none="never" />
          </span>
          <button type="button" className="btn" disabled={ask.isPending} onClick={() => ask.mutate()}>
            Ask now
          </button>
        </div>
      </header>
      <dl className="grid grid-cols-[110px_minmax(0,1fr)] gap-x-3 gap-y-1 p-3.5">
        <dt className="text-text-3">Address</dt>
        <dd className="mono break-all">{app.url}</dd>
        <dt className="text-text-3">Key</dt>
        <dd>{app.has_key ? "kept encrypted, never shown" : "none"}</dd>
      </dl>
      <ul aria-label="Endpoints and how they answered">
        {app.checks.map((check) => (
          <Endpoint key={check.endpoint} check={check} />
        ))}
      </ul>
      {ask.error && <Failed what="Could not ask the app" error={ask.error} />}
    </section>
  );
}

function Endpoint({ check }: { check: TaskAppCheck }) {
  return (
    <li className="flex flex-wrap items-center gap-2 border-t border-line px-3.5 py-2">
      <code className="w-24">{check.endpoint}</code>
      <State kind={check.ok ? "ok" : "bad"}>{check.ok ? "well" : (check.cause ?? "failed").replaceAll("_", " ")}</State>
      {check.message && <span className="min-w-0 text-text-2 [overflow-wrap:anywhere]">{check.message}</span>}
      <span className="grow" />
      <span className="tnum text-12 text-text-3">
        {check.status ?? ""} {check.latency_ms === null ? "" : `${count(Math.round(check.latency_ms))} ms`}
      </span>
    </li>
  );
}

function Tasks({ app }: { app: TaskAppOut }) {
  const [pulling, setPulling] = useState(false);
  return (
    <section className="card" aria-label="Tasks of the app">
      <header>
        <h2>Its tasks</h2>
        <span className="tag tnum">{app.size === null ? "number not told" : count(app.size)}</span>
        {app.splits.map((split) => (
          <span key={split} className="tag line">
            {split}
            {split === app.default_split ? ", default" : ""}
          </span>
        ))}
        <div className="acts">
          <button type="button" className="btn pri" disabled={app.environment.ready === null} onClick={() => setPulling(true)}>
            Pull tasks
          </button>
        </div>
      </header>
      <p className="p-3.5 text-text-2">
        Each seed becomes a task of a taskset; pulled again, what changed makes the next version.
        {app.lost.length > 0 && ` The app lost ${plural(app.lost.length, "part")} of its own description in writing: ${app.lost.join(", ")}.`}
      </p>
      {pulling && <PullDialog app={app} onClose={() => setPulling(false)} />}
    </section>
  );
}

function PullDialog({ app, onClose }: { app: TaskAppOut; onClose: () => void }) {
  const client = useQueryClient();
  const pull = useMutation({
    mutationFn: (body: Record<string, unknown>) => api<PullOut>(`/api/task-apps/${app.environment.id}/pull`, { method: "POST", body, repeatable: true }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["tasksets"] }),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const asked = String(form.get("count")).trim();
    const splits = form.getAll("split").map(String);
    pull.mutate({ taskset: String(form.get("taskset")), first: Number(form.get("first")), ...(asked ? { count: Number(asked) } : {}), ...(splits.length ? { splits } : {}) });
  };
  if (pull.data) return <Pulled done={pull.data} onClose={onClose} />;
  return (
    <Dialog open onClose={onClose} title="Pull tasks" about="Asks the app for a task for each seed and writes them into a taskset.">
      <form className="grid gap-3" onSubmit={submit}>
        <label className="grid gap-1 font-medium">
          Taskset
          <input className="box" name="taskset" required maxLength={255} defaultValue={app.environment.name} />
        </label>
        <div className="grid grid-cols-2 gap-3">
          <label className="grid gap-1 font-medium">
            First seed
            <input className="box tnum" name="first" type="number" min={0} defaultValue={0} required />
          </label>
          <label className="grid gap-1 font-medium">
            How many
            <input className="box tnum" name="count" type="number" min={1} max={10_000} required={app.size === null} placeholder={app.size === null ? "" : `all ${count(app.size)}`} />
          </label>
        </div>
        {app.splits.length > 0 && (
          <fieldset className="flex flex-wrap gap-3">
            <legend className="mb-1 font-medium">Splits</legend>
            {app.splits.map((split) => (
              <label key={split} className="flex items-center gap-2">
                <input type="checkbox" name="split" value={split} defaultChecked={split === app.default_split} />
                {split}
              </label>
            ))}
          </fieldset>
        )}
        {pull.error && <Failed what="Could not pull the tasks" error={pull.error} />}
        <div className="flex justify-end gap-2">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn pri" disabled={pull.isPending}>
            {pull.isPending ? "Pulling…" : "Pull tasks"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Pulled({ done, onClose }: { done: PullOut; onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title={`${plural(done.tasks, "task")} pulled`} about={`${count(done.created)} new, ${count(done.updated)} changed, ${count(done.removed)} gone.`}>
      <div className="grid gap-3">
        {done.damaged.length > 0 && (
          <p className="banner warn" role="status">
            The app lost something of {plural(done.damaged.length, "task")} in writing: {done.damaged.slice(0, 10).join(", ")}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <button type="button" className="btn" onClick={onClose}>
            Close
          </button>
          <Link className="btn pri" to={`/tasksets/${done.taskset}`}>
            Open {done.taskset}
          </Link>
        </div>
      </div>
    </Dialog>
  );
}

/** Everything that can be asked without a rollout, when a person asks. */
function Judged({ env }: { env: EnvironmentOut }) {
  const judge = useMutation({ mutationFn: () => api<TaskAppReport>(`/api/task-apps/${env.id}/validate`, { method: "POST", repeatable: true }) });
  const report = judge.data;
  return (
    <section className="card" aria-label="Validation">
      <header>
        <h2>Validation</h2>
        {report && <span className="text-text-2" role="status">{`${plural(report.errors, "error")}, ${plural(report.warnings, "warning")}`}</span>}
        <div className="acts">
          <button type="button" className="btn" disabled={judge.isPending} onClick={() => judge.mutate()}>
            {judge.isPending ? "Asking…" : "Validate"}
          </button>
        </div>
      </header>
      {judge.error && <Failed what="Could not validate the app" error={judge.error} />}
      {!report && !judge.error && <p className="p-3.5 text-text-3">Keys, leaks, origins, what is lost in writing, a few tasks: all that can be asked without starting a rollout.</p>}
      <ul aria-label="Findings">
        {report?.findings.map((finding, index) => (
          <li key={index} className="flex flex-wrap items-center gap-2 border-t border-line px-3.5 py-2">
            <State kind={finding.level === "ok" ? "ok" : finding.level === "warning" ? "warn" : "bad"}>{finding.level}</State>
            <code>{finding.subject}</code>
            <span className="min-w-0 text-text-2 [overflow-wrap:anywhere]">{finding.message}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
