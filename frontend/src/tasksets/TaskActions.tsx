/** What can be done with one task: edit it, copy it, move it, take it out. All but the copy go into the draft at once, with an undo. */
import { useState } from "react";
import type { FormEvent } from "react";
import { Link, useNavigate } from "react-router";
import type { DraftEdit, TaskOut, TasksetOut } from "../api/types";
import { count } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { useKeys } from "../ui/keys";
import { Failed } from "../ui/Notices";
import { Dialog, Menu, MoreButton } from "../ui/Overlays";
import { useTaskEdit } from "./draft";
import { editPath } from "./paths";

export function TaskActions({ set, task }: { set: TasksetOut; task: TaskOut }) {
  const [moving, move] = useState(false);
  const navigate = useNavigate();
  const editing = useTaskEdit(set);
  const archived = set.archived_at !== null;
  const edit = (change: DraftEdit, said: string) => editing.mutate({ change, said });
  const remove = () => edit({ op: "remove", slug: task.slug }, `${task.slug} is removed in the draft`);
  useKeys("This task", archived ? [] : [
    { keys: "e", what: "Edit", run: () => void navigate(editPath(set, task.slug)) },
    { keys: "D", what: "Duplicate", run: () => void navigate(editPath(set, undefined, task.slug)) },
    { keys: "m", what: "Move…", run: () => move(true) },
    { keys: "Delete", what: "Remove, in the draft", run: remove },
  ]);
  if (archived) return null;
  return (
    <>
      <Link className="btn" to={editPath(set, task.slug)}>
        <Icon name="pencil" /> Edit
      </Link>
      <Menu
        label="More actions"
        button={<MoreButton label="More actions" />}
        items={[
          { text: "Duplicate…", hint: <kbd>⇧D</kbd>, run: () => void navigate(editPath(set, undefined, task.slug)) },
          { text: "Move…", hint: <kbd>m</kbd>, run: () => move(true) },
          { text: "Remove", danger: true, hint: <kbd>Delete</kbd>, run: remove },
        ]}
      />
      {editing.error && <Failed what="Could not change the draft" error={editing.error} />}
      {moving && <MoveDialog set={set} task={task} onMove={(position) => edit({ op: "set", slug: task.slug, position }, `${task.slug} moves to place ${count(position + 1)} in the draft`)} onClose={() => move(false)} />}
    </>
  );
}

function MoveDialog({ set, task, onMove, onClose }: { set: TasksetOut; task: TaskOut; onMove: (position: number) => void; onClose: () => void }) {
  const last = set.head?.task_count ?? 1;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    onMove(Number(new FormData(event.currentTarget).get("place")) - 1);
    onClose();
  };
  return (
    <Dialog open onClose={onClose} title={`Move ${task.slug}`} about={`It stands at place ${count(task.position + 1)} of ${count(last)}. The others close up.`}>
      <form className="flex items-end gap-2" onSubmit={submit}>
        <label className="grid grow gap-1 font-medium">
          To place
          <input className="box" type="number" name="place" min={1} max={last} defaultValue={task.position + 1} required autoFocus onFocus={(event) => event.target.select()} />
        </label>
        <button type="submit" className="btn pri">
          Move
        </button>
      </form>
    </Dialog>
  );
}
