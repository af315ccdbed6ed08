/** How a taskset is shared, downloaded and pulled: what its head offers for that, and the dialogs that answer. */
import { useState } from "react";
import type { ReactNode } from "react";
import { chosenTeam } from "../api/client";
import type { TasksetOut, VersionOut } from "../api/types";
import { ShareDialog } from "../shares/ShareDialog";
import { plural } from "../ui/formats";
import type { MenuItem } from "../ui/Overlays";
import { DownloadMenu } from "./DownloadMenu";
import { PullDialog } from "./PullDialog";

interface Moving {
  download: ReactNode;
  items: MenuItem[];
  dialog: ReactNode;
}

export function useMoving(set: TasksetOut, version: VersionOut | null): Moving {
  const [open, setOpen] = useState<"share" | "pull" | null>(null);
  const close = () => setOpen(null);
  const team = chosenTeam();
  const file = `/api/tasksets/${set.id}${version ? `@${version.number}` : ""}`;
  const hud = { href: `${file}/export${team ? `?team=${team}` : ""}`, filename: `${set.name}.json` };
  const pinned = version && { reference: `${set.name}@${version.number}`, text: `v${version.number}` };
  return {
    download: <DownloadMenu path={`${file}/download`} what={version ? `v${version.number}, ${plural(version.task_count, "task")}` : "No tasks yet"} hud={hud} />,
    items: [
      { text: "Share…", disabled: set.archived_at !== null, run: () => setOpen("share") },
      { text: "Pull from another Proctor…", disabled: set.archived_at !== null, run: () => setOpen("pull") },
    ],
    dialog:
      open === "share" ? (
        <ShareDialog kind="taskset" title={set.title} following={set.name} pinned={pinned} onClose={close} />
      ) : open === "pull" ? (
        <PullDialog set={set} onClose={close} />
      ) : null,
  };
}
