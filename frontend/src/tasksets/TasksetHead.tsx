/** Head of a taskset's pages: the version looked at, the facts that pin it, and what can be done with the whole set. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "react-router";
import { ApiError } from "../api/client";
import { environmentQuery, tagsQuery } from "../api/queries";
import type { TasksetOut, VersionOut } from "../api/types";
import { Digest, Id } from "../ui/Copy";
import { count } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { Failed } from "../ui/Notices";
import { Menu, MoreButton } from "../ui/Overlays";
import { PageHead } from "../ui/Page";
import { Time } from "../ui/Time";
import { hud, own, rest, sdk, UseFromCode } from "../ui/UseFromCode";
import { useRows } from "../ui/useRows";
import { useArchive } from "./archive";
import { useMoving } from "./moving";
import { diffPath, editPath, startPath } from "./paths";

interface HeadProps {
  set: TasksetOut;
  version: VersionOut | null;
  onUpload: () => void;
  onRename: () => void;
}

export function TasksetHead({ set, version, onUpload, onRename }: HeadProps) {
  const archive = useArchive(set);
  const moving = useMoving(set, version);
  const navigate = useNavigate();
  const tags = useRows(tagsQuery(set.id)).rows.filter((tag) => tag.version_number === version?.number);
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
            {tags.map((tag) => (
              <span key={tag.name} className="tag">
                {tag.name}
              </span>
            ))}
            {set.archived_at && <span className="tag warn">{set.purged_at ? "purged" : "archived"}</span>}
          </>
        }
        meta={<Facts set={set} version={version} />}
        actions={
          <>
            <UseFromCode
              snippets={[
                rest(`/api/tasksets/${set.name}/tasks`),
                sdk(`from hud import Taskset\n\ntasks = Taskset.from_api("${set.name}")`),
                own(`proctor taskset pull ${set.name}\nproctor run ${set.name} --runtime hosted --model MODEL`),
                hud(`hud sync tasks ${set.name} tasks.py\nhud eval ${set.name} MODEL --full`),
              ]}
            />
            <button type="button" className="btn" onClick={onUpload}>
              <Icon name="upload" /> Upload
            </button>
            {moving.download}
            <Link className="btn pri" to={startPath({ name: set.name, head: version })}>
              <Icon name="play" /> New job
            </Link>
            <Menu
              label="More actions"
              button={<MoreButton label="More actions" />}
              items={[
                { text: "New task…", hint: <kbd>a</kbd>, disabled: set.archived_at !== null, run: () => void navigate(editPath(set)) },
                { text: "Rename…", hint: <kbd>e</kbd>, run: onRename },
                ...moving.items,
                { text: set.archived_at ? "Restore" : "Archive", run: () => archive.mutate(!set.archived_at) },
              ]}
            />
          </>
        }
      />
      {archive.error && <Failed what="Could not archive" error={archive.error} />}
      {moving.dialog}
    </>
  );
}

/** A name that tasks use, and whether there is an environment to run them in. */
function EnvironmentFact({ name }: { name: string }) {
  const found = useQuery(environmentQuery(name));
  const missing = found.error instanceof ApiError && found.error.status === 404;
  const word = found.data?.ready ? "deployed" : found.data ? "not ready" : missing ? "missing" : "";
  return (
    <Link className="plain" to={missing ? "/environments" : `/environments/${encodeURIComponent(name)}`}>
      <Icon name="environment" /> {name} <span className={word === "deployed" ? "text-text-3" : "text-bad"}>{word}</span>
    </Link>
  );
}

function Facts({ set, version }: { set: TasksetOut; version: VersionOut | null }) {
  return (
    <>
      <span className="tnum">
        <Icon name="taskset" /> {version ? count(version.task_count) : 0} tasks
      </span>
      {set.environments.map((name) => (
        <EnvironmentFact key={name} name={name} />
      ))}
      {version && (
        <>
          <span>
            <Icon name="hash" /> <Digest value={version.digest} what="version digest" />
          </span>
          <span>
            <Icon name="user" /> {version.author ?? "system"}, <Time at={version.created_at} />
          </span>
          {version.parent_number !== null && <Link to={diffPath(set, version.parent_number, version.number)}>changes since v{version.parent_number}</Link>}
        </>
      )}
      <Id id={set.id} what="taskset" />
    </>
  );
}
