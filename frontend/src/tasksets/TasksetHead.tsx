/** Head of a taskset's pages: the version looked at, the facts that pin it, and what can be done with the whole set. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { api } from "../api/client";
import type { TasksetOut, VersionOut } from "../api/types";
import { Digest, Id } from "../ui/Copy";
import { count } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { Failed } from "../ui/Notices";
import { Menu, MoreButton } from "../ui/Overlays";
import { PageHead } from "../ui/Page";
import { Time } from "../ui/Time";
import { toast } from "../ui/toast";
import { hud, rest, sdk, UseFromCode } from "../ui/UseFromCode";
import { startPath } from "./paths";

interface HeadProps {
  set: TasksetOut;
  version: VersionOut | null;
  onUpload: () => void;
  onRename: () => void;
}

export function TasksetHead({ set, version, onUpload, onRename }: HeadProps) {
  const archive = useArchive(set);
  return (
    <>
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
            <button type="button" className="btn" onClick={onUpload}>
              <Icon name="upload" /> Upload
            </button>
            <a className="btn" href={`/api/tasksets/${set.name}${version ? `@${version.number}` : ""}/export`} download={`${set.name}.json`}>
              <Icon name="download" /> Export
            </a>
            <Link className="btn pri" to={startPath({ name: set.name, head: version })}>
              <Icon name="play" /> New job
            </Link>
            <Menu
              label="More actions"
              button={<MoreButton label="More actions" />}
              items={[
                { text: "Rename…", hint: <kbd>e</kbd>, run: onRename },
                { text: set.archived_at ? "Restore" : "Archive", run: () => archive.mutate(!set.archived_at) },
              ]}
            />
          </>
        }
      />
      {archive.error && <Failed what="Could not archive" error={archive.error} />}
    </>
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
