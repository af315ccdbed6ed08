/** One job, live: the result and whether to trust it, the matrix, its runs, failures by cause, and everything it was started with. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { api } from "../api/client";
import type { CancelOut, JobOut } from "../api/types";
import type { JobFeed, JobView } from "../live/JobFeed";
import { useJobFeed } from "../live/hooks";
import { remember } from "../shell/preferences";
import { Load } from "../shell/Load";
import { Id } from "../ui/Copy";
import { count, plural } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { useKeys } from "../ui/keys";
import { Boundary, Failed } from "../ui/Notices";
import { Confirm, Menu, MoreButton } from "../ui/Overlays";
import { PageHead, Tabs } from "../ui/Page";
import { ended } from "../ui/Progress";
import { RenameDialog } from "../ui/RenameDialog";
import { Time } from "../ui/Time";
import { toast } from "../ui/toast";
import { hud, own, rest, sdk, UseFromCode } from "../ui/UseFromCode";
import { FailureList, Failures } from "./Failures";
import { Headline } from "./Headline";
import { JobRuns } from "./JobRuns";
import { JobState, JobTags } from "./JobTable";
import { MatrixTable } from "./MatrixTable";
import { Setup } from "./Setup";
import { tasksOf } from "./words";

export type JobTab = "matrix" | "runs" | "failures" | "setup";

export default function Job({ tab }: { tab: JobTab }) {
  const { id = "" } = useParams();
  const { view, error, feed } = useJobFeed(id);
  if (!view) return <Load what="job" error={error} retry={() => void feed.load()} />;
  return <Known view={view} feed={feed} tab={tab} />;
}

function Known({ view, feed, tab }: { view: JobView; feed: JobFeed; tab: JobTab }) {
  const { sums, rows } = view;
  const job = { ...view.job, counts: sums.counts };
  const navigate = useNavigate();
  const client = useQueryClient();
  const [asking, setAsking] = useState<"cancel" | "rename" | null>(null);
  useEffect(() => remember({ to: `/jobs/${job.id}`, text: job.name, kind: "job" }), [job.id, job.name]);
  const again = useMutation({
    mutationFn: () => api<JobOut>(`/api/jobs/${job.id}/again`, { method: "POST" }),
    onSuccess: (made) => void navigate(`/jobs/${made.id}`),
  });
  const archive = useMutation({
    mutationFn: (archived: boolean) => api<JobOut>(`/api/jobs/${job.id}`, { method: "PATCH", body: { archived } }),
    onSuccess: async (changed) => {
      feed.accept(changed);
      await client.invalidateQueries({ queryKey: ["jobs"] });
      toast(changed.archived_at ? "Job archived" : "Job restored");
    },
  });
  const running = sums.counts.pending > 0;
  const hosted = job.source === "hosted";
  const here = `/jobs/${job.id}`;
  useKeys("This job", [
    { keys: "e", what: "Rename", run: () => setAsking("rename") },
    ...(hosted ? [{ keys: "a", what: "Run again", run: () => again.mutate() }] : []),
  ]);
  const share = sums.counts.expected ? Math.floor((ended(sums.counts) / sums.counts.expected) * 100) : 0;
  return (
    <main id="main" className="page fill">
      <PageHead
        title={job.name}
        lead={running ? `${share} %` : undefined}
        trail={[{ to: "/jobs", text: "Jobs" }]}
        state={
          <>
            <JobState job={running ? job : { ...job, state: job.state === "cancelled" ? "cancelled" : "completed" }} />
            <span className="tag tnum">
              {count(ended(sums.counts))} of {count(sums.counts.expected)} ended
            </span>
            <JobTags job={job} />
          </>
        }
        meta={<Facts job={job} />}
        actions={
          <>
            <UseFromCode
              snippets={[
                rest(`/api/jobs/${job.id}`),
                ...(job.taskset ? [sdk(`from hud import Taskset\nfrom hud.agents import create_agent\n\ntasks = Taskset.from_api("${job.taskset.name}")\njob = await tasks.run(create_agent("${job.model ?? "MODEL"}"), group=${job.group})`)] : []),
                own(`proctor jobs show ${job.id}\nproctor runs export ${job.id} -o runs.jsonl`),
                hud(`hud jobs get ${job.id}${running ? `\nhud jobs cancel ${job.id}` : ""}`),
              ]}
            />
            {running && (
              <button type="button" className="btn danger" onClick={() => setAsking("cancel")} disabled={job.cancel_requested_at !== null}>
                <Icon name="stop" /> {job.cancel_requested_at ? "Cancelling" : "Cancel…"}
              </button>
            )}
            {hosted && (
              <button type="button" className="btn" onClick={() => again.mutate()} disabled={again.isPending}>
                <Icon name="again" /> Run again
              </button>
            )}
            <Menu
              label="More actions"
              button={<MoreButton label="More actions" />}
              items={[
                { text: "Rename…", hint: <kbd>e</kbd>, run: () => setAsking("rename") },
                { text: job.archived_at ? "Restore" : "Archive", disabled: running, hint: running ? "when it has ended" : undefined, run: () => archive.mutate(!job.archived_at) },
              ]}
            />
          </>
        }
      />
      {again.error && <Failed what="Could not run the job again" error={again.error} />}
      {archive.error && <Failed what="Could not archive the job" error={archive.error} />}
      <Headline job={job} sums={sums} rows={rows} />
      <Tabs
        label="Job"
        tabs={[
          { to: here, text: "Matrix", n: count(rows.length), current: tab === "matrix" },
          { to: `${here}/runs`, text: "Runs", n: count(sums.counts.expected), current: tab === "runs" },
          { to: `${here}/failures`, text: "Failures", n: count(sums.counts.failed), current: tab === "failures" },
          { to: `${here}/setup`, text: "Setup", current: tab === "setup" },
        ]}
      />
      <Boundary what="this part of the job" key={tab}>
        {tab === "matrix" && (
          <div className="flow flex min-h-0 grow">
            <MatrixTable rows={rows} group={job.group} />
            {sums.counts.failed > 0 && (
              <aside className="scroll w-[300px] flex-none border-l border-line p-4 max-lg:hidden" aria-label="Failures">
                <FailureList groups={view.job.failures} total={sums.counts.failed} job={job.id} />
              </aside>
            )}
          </div>
        )}
        {tab === "runs" && <JobRuns rows={rows} />}
        {tab === "failures" && <Failures groups={view.job.failures} counts={sums.counts} job={job.id} />}
        {tab === "setup" && <Setup job={job} />}
      </Boundary>
      {asking === "cancel" && <CancelJob job={job} feed={feed} onClose={() => setAsking(null)} />}
      {asking === "rename" && <RenameDialog<JobOut> what="job" path={`/api/jobs/${job.id}`} name={job.name} stale={["jobs"]} onDone={feed.accept} onClose={() => setAsking(null)} />}
    </main>
  );
}

function Facts({ job }: { job: JobOut }) {
  const set = job.taskset;
  return (
    <>
      {set && (
        <Link className="plain" to={`/tasksets/${set.id}${set.version_number === null ? "" : `?v=${set.version_number}`}`}>
          <Icon name="taskset" /> {set.name}
          {set.version_number !== null && `@${set.version_number}`}, {tasksOf(job)}
        </Link>
      )}
      {job.agent_type && (
        <span>
          <Icon name="agent" /> {job.agent_type}
        </span>
      )}
      {job.model && (
        <span>
          <Icon name="model" /> {job.model}
        </span>
      )}
      <span>group {job.group}</span>
      {job.sandbox && (
        <span>
          <Icon name="box" /> {job.sandbox === "subprocess" ? "plain process" : job.sandbox}
        </span>
      )}
      <span>
        <Icon name="user" /> {job.created_by ?? "system"}, <Time at={job.created_at} />
      </span>
      <Id id={job.id} what="job" />
    </>
  );
}

function CancelJob({ job, feed, onClose }: { job: JobOut; feed: JobFeed; onClose: () => void }) {
  const cancel = useMutation({
    mutationFn: () => api<CancelOut>(`/api/jobs/${job.id}/cancel`, { method: "POST", repeatable: true }),
    onSuccess: async (done) => {
      toast(`Cancelling ${plural(done.cancelled, "run")}`);
      onClose();
      feed.accept(await api<JobOut>(`/api/jobs/${job.id}`));
    },
  });
  const { running, queued, graded, pending } = job.counts;
  const about = `${plural(running, "running run")} ${running === 1 ? "is" : "are"} stopped and ${plural(queued, "queued run")} never start. The ${plural(graded, "graded run")} keep their rewards.`;
  return (
    <Confirm
      open
      onClose={onClose}
      title={`Cancel ${job.name}?`}
      about={about}
      keep="Keep running"
      verb={`Cancel ${plural(pending, "run")}`}
      busy={cancel.isPending}
      onConfirm={() => cancel.mutate()}
      error={cancel.error && <Failed what="Could not cancel" error={cancel.error} />}
    />
  );
}
