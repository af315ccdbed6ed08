/** One taskset: its tasks at the head or a pinned version, its versions, its jobs; start a job on all, filtered or chosen tasks. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link, Navigate, useLocation, useNavigate, useParams, useSearchParams } from "react-router";
import { api } from "../api/client";
import { jobsQuery, tasksetQuery, versionsQuery } from "../api/queries";
import type { TasksetOut, VersionOut } from "../api/types";
import { JobTable } from "../runs/JobTable";
import { remember } from "../shell/preferences";
import { Load } from "../shell/Load";
import { Digest, Id } from "../ui/Copy";
import { count, isUuid } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { useKeys } from "../ui/keys";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { Menu, MoreButton } from "../ui/Overlays";
import { PageHead, Tabs } from "../ui/Page";
import { RenameDialog } from "../ui/RenameDialog";
import { Time } from "../ui/Time";
import { toast } from "../ui/toast";
import { hud, rest, sdk, UseFromCode } from "../ui/UseFromCode";
import { useRows } from "../ui/useRows";
import type { Column } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";
import { TaskTable } from "./TaskTable";
import { UploadDialog } from "./UploadDialog";

type Tab = "tasks" | "versions" | "jobs";

/** `/tasksets/{name}`, `{name}@3`, `{name}@sha256:…` lead to the id, the version pinned by `?v=`. */
export default function Taskset({ tab }: { tab: Tab }) {
  const { ref = "" } = useParams();
  const [params] = useSearchParams();
  const { pathname, search } = useLocation();
  const set = useQuery(tasksetQuery(ref));
  if (!set.data) return <Load what="taskset" error={set.error} retry={() => void set.refetch()} />;
  if (set.data.id !== ref) {
    const pinned = /@(.+)$/.exec(decodeURIComponent(ref))?.[1];
    const next = new URLSearchParams(search);
    if (pinned) next.set("v", pinned);
    const query = next.size ? `?${next.toString()}` : "";
    return <Navigate to={pathname.replace(/^\/tasksets\/[^/]+/, `/tasksets/${set.data.id}`) + query} replace />;
  }
  return <Known set={set.data} tab={tab} pinned={isUuid(ref) ? params.get("v") : null} />;
}

function Known({ set, tab, pinned }: { set: TasksetOut; tab: Tab; pinned: string | null }) {
  const [uploading, setUploading] = useState(false);
  const [renaming, setRenaming] = useState(false);
  const navigate = useNavigate();
  useEffect(() => remember({ to: `/tasksets/${set.id}`, text: set.title, kind: "taskset" }), [set.id, set.title]);
  const pin = useQuery({ ...tasksetQuery(`${set.name}@${pinned}`), enabled: pinned !== null });
  const shown = pinned === null ? set : (pin.data ?? set);
  const version = shown.head;
  const archive = useArchive(set);
  const here = `/tasksets/${set.id}`;
  const start = `/jobs/new?taskset=${encodeURIComponent(version ? `${set.name}@${version.number}` : set.name)}`;
  useKeys("This taskset", [
    { keys: "n", what: `New job on ${set.title}`, run: () => void navigate(start) },
    { keys: "u", what: "Upload tasks", run: () => setUploading(true) },
    { keys: "e", what: "Rename", run: () => setRenaming(true) },
  ]);
  const isHead = !version || !set.head || version.number === set.head.number;
  return (
    <main id="main" className="page fill">
      <PageHead
        title={set.title}
        trail={[{ to: "/tasksets", text: "Tasksets" }]}
        state={
          <>
            {version && (
              <span className="tag acc">
                <Icon name="tag" /> v{version.number}
              </span>
            )}
            {set.archived_at && <span className="tag warn">archived</span>}
          </>
        }
        meta={<Facts set={set} version={version} />}
        actions={
          <>
            <UseFromCode
              snippets={[
                rest(`/api/tasksets/${set.name}/tasks`),
                sdk(`from hud import Taskset\n\ntasks = Taskset.from_api("${set.name}")`),
                hud(`hud sync tasks ${set.name} tasks.py\nhud eval ${set.name} MODEL --full`),
              ]}
            />
            <button type="button" className="btn" onClick={() => setUploading(true)}>
              <Icon name="upload" /> Upload
            </button>
            <a className="btn" href={`/api/tasksets/${set.name}${version ? `@${version.number}` : ""}/export`} download={`${set.name}.json`}>
              <Icon name="download" /> Export
            </a>
            <Link className="btn pri" to={start}>
              <Icon name="play" /> New job
            </Link>
            <Menu
              label="More actions"
              button={<MoreButton label="More actions" />}
              items={[
                { text: "Rename…", hint: <kbd>e</kbd>, run: () => setRenaming(true) },
                { text: set.archived_at ? "Restore" : "Archive", run: () => archive.mutate(!set.archived_at) },
              ]}
            />
          </>
        }
      />
      {archive.error && <Failed what="Could not archive" error={archive.error} />}
      {pin.error && <Failed what={`Could not open version ${pinned ?? ""}`} error={pin.error} retry={() => void pin.refetch()} />}
      {!isHead && set.head && version && (
        <div className="banner warn">
          <Icon name="clock" /> You look at v{version.number}. <Link to={here}>Go to the head, v{set.head.number}</Link>
        </div>
      )}
      <Tabs
        label="Taskset"
        tabs={[
          { to: `${here}${pinned ? `?v=${pinned}` : ""}`, text: "Tasks", n: version ? count(version.task_count) : "0", current: tab === "tasks" },
          { to: `${here}/versions`, text: "Versions", n: set.head ? count(set.head.number) : "0", current: tab === "versions" },
          { to: `${here}/jobs`, text: "Jobs", current: tab === "jobs" },
        ]}
      />
      {tab === "tasks" && <TaskTable key={version?.digest ?? ""} set={shown} pinned={!isHead} onUpload={() => setUploading(true)} />}
      {tab === "versions" && <Versions set={set} />}
      {tab === "jobs" && <Jobs set={set} start={start} />}
      {uploading && <UploadDialog taskset={set} onClose={() => setUploading(false)} />}
      {renaming && <RenameDialog what="taskset" path={`/api/tasksets/${set.id}`} name={set.title} stale={["tasksets"]} onClose={() => setRenaming(false)} />}
    </main>
  );
}

function Facts({ set, version }: { set: TasksetOut; version: VersionOut | null }) {
  return (
    <>
      <span className="tnum">
        <Icon name="taskset" /> {version ? count(version.task_count) : 0} tasks
      </span>
      {set.environments.map((name) => (
        <Link key={name} className="plain" to={`/environments/${encodeURIComponent(name)}`}>
          <Icon name="environment" /> {name}
        </Link>
      ))}
      {version && (
        <>
          <span>
            <Icon name="hash" /> <Digest value={version.digest} what="version digest" />
          </span>
          <span>
            <Icon name="user" /> {version.author ?? "system"}, <Time at={version.created_at} />
          </span>
        </>
      )}
      <Id id={set.id} what="taskset" />
    </>
  );
}

function useArchive(set: TasksetOut) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (archived: boolean) => api<TasksetOut>(`/api/tasksets/${set.id}`, { method: "PATCH", body: { archived } }),
    onSuccess: async (changed) => {
      await client.invalidateQueries({ queryKey: ["tasksets"] });
      toast(changed.archived_at ? `${set.title} archived` : `${set.title} restored`);
    },
  });
}

function Versions({ set }: { set: TasksetOut }) {
  const versions = useRows(versionsQuery(set.id));
  const columns: Column<VersionOut>[] = [
    {
      name: "Version",
      width: 110,
      className: "on-phone",
      cell: (version) => (
        <Link className="stretch" to={`/tasksets/${set.id}?v=${version.number}`}>
          v{version.number}
          {version.number === set.head?.number && <span className="tag acc ml-2">head</span>}
        </Link>
      ),
    },
    { name: "Message", className: "on-phone wide", cell: (version) => version.message || <span className="text-text-3">no message</span> },
    {
      name: "Changes",
      width: 140,
      cell: (version) => (
        <span className="tnum text-text-2">
          +{count(version.created)} −{count(version.removed)} ~{count(version.updated)}
        </span>
      ),
    },
    { name: "Tasks", width: 90, className: "num", cell: (version) => count(version.task_count) },
    { name: "Digest", width: 210, cell: (version) => <Digest value={version.digest} what={`digest of v${version.number}`} /> },
    { name: "Who", width: 140, cell: (version) => <span className="text-text-2">{version.author ?? "system"}</span> },
    { name: "When", width: 150, className: "num on-phone", cell: (version) => <span className="text-text-2"><Time at={version.created_at} /></span> },
  ];
  if (versions.error) return <Failed what="Could not load the versions" error={versions.error} retry={versions.retry} />;
  if (versions.loading) return <Skeleton />;
  return (
    <VirtualTable
      label="Versions"
      rows={versions.rows}
      columns={columns}
      keyOf={(version) => version.id}
      more={versions.more}
      loadingMore={versions.loadingMore}
      minWidth={940}
      empty={<Empty title="No version yet">The first upload makes version 1.</Empty>}
    />
  );
}

function Jobs({ set, start }: { set: TasksetOut; start: string }) {
  const jobs = useRows(jobsQuery({ taskset: set.id }));
  if (jobs.error) return <Failed what="Could not load the jobs" error={jobs.error} retry={jobs.retry} />;
  if (jobs.loading) return <Skeleton />;
  return (
    <JobTable
      jobs={jobs}
      empty={
        <Empty title="No jobs on this taskset yet" action={<Link className="btn" to={start}>New job</Link>} command={`hud eval ${set.name} MODEL --full`}>
          A job runs every task with one agent and shows how good it is.
        </Empty>
      }
    />
  );
}
