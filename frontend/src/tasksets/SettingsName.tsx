/** Settings: the name, and archiving. */
import { useState } from "react";
import type { TasksetOut } from "../api/types";
import { Failed } from "../ui/Notices";
import { RenameDialog } from "../ui/RenameDialog";
import { useArchive } from "./archive";

export function Name({ set }: { set: TasksetOut }) {
  const [renaming, rename] = useState(false);
  return (
    <div className="flex flex-wrap items-center gap-3">
      <b className="font-medium">{set.title}</b>
      <code className="text-text-2">{set.name}</code>
      <span className="grow" />
      <button type="button" className="btn" onClick={() => rename(true)}>
        Rename…
      </button>
      {renaming && <RenameDialog what="taskset" path={`/api/tasksets/${set.id}`} name={set.title} stale={["tasksets"]} onClose={() => rename(false)} />}
    </div>
  );
}

export function Retire({ set }: { set: TasksetOut }) {
  const archive = useArchive(set);
  const archived = set.archived_at !== null;
  return (
    <div className="flex flex-wrap items-center gap-3">
      <button type="button" className="btn" disabled={archive.isPending || set.purged_at !== null} onClick={() => archive.mutate(!archived)}>
        {archived ? `Take ${set.title} out of the archive` : `Archive ${set.title}`}
      </button>
      {archive.error && <Failed what="Could not archive" error={archive.error} />}
    </div>
  );
}
