/** The tags of a taskset seen from one version: put one on it, move one here, take one off, see where each has been. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { api } from "../api/client";
import { tagsQuery } from "../api/queries";
import type { TagOut, TasksetOut } from "../api/types";
import { Icon } from "../ui/Icon";
import { Failed, Skeleton } from "../ui/Notices";
import { Dialog } from "../ui/Overlays";
import { Time } from "../ui/Time";
import { toast } from "../ui/toast";
import { useRows } from "../ui/useRows";

/** Null takes the tag off. */
export function useTagging(set: TasksetOut) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, version }: { name: string; version: number | null }) =>
      api(`/api/tasksets/${set.id}/tags/${encodeURIComponent(name)}`, version === null ? { method: "DELETE" } : { method: "PUT", body: { version } }),
    onSuccess: async (_, { name, version }) => {
      await client.invalidateQueries({ queryKey: ["tasksets"] });
      toast(version === null ? `${name} taken off` : `${name} is v${version}`);
    },
  });
}

export function TagDialog({ set, number, onClose }: { set: TasksetOut; number: number; onClose: () => void }) {
  const tags = useRows(tagsQuery(set.id));
  const tagging = useTagging(set);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    tagging.mutate({ name: String(new FormData(form).get("name")).trim(), version: number }, { onSuccess: () => form.reset() });
  };
  return (
    <Dialog open onClose={onClose} title={`Tag v${number}`} about="A tag names one version and can be moved. Jobs, exports and code take it after an @.">
      <form className="flex items-end gap-2" onSubmit={submit}>
        <label className="grid grow gap-1 font-medium">
          Tag
          <input className="box" name="name" required maxLength={64} pattern="[a-z0-9][a-z0-9._\-]*" title="a to z, 0 to 9, dot, dash, underscore" placeholder="prod" autoFocus autoComplete="off" />
        </label>
        <button type="submit" className="btn pri" disabled={tagging.isPending}>
          Tag v{number}
        </button>
      </form>
      {tagging.error && <Failed what="Could not change the tag" error={tagging.error} />}
      {tags.error && <Failed what="Could not load the tags" error={tags.error} retry={tags.retry} />}
      {tags.loading ? <Skeleton rows={2} /> : (
        <ul className="mt-3 grid gap-2" aria-label="Tags">
          {tags.rows.map((tag) => (
            <TagLine key={tag.name} tag={tag} number={number} busy={tagging.isPending} onMove={(version) => tagging.mutate({ name: tag.name, version })} />
          ))}
        </ul>
      )}
    </Dialog>
  );
}

function TagLine({ tag, number, busy, onMove }: { tag: TagOut; number: number; busy: boolean; onMove: (version: number | null) => void }) {
  const here = tag.version_number === number;
  return (
    <li className="grid gap-1 border-t border-line pt-2">
      <div className="flex items-center gap-2">
        <span className="tag acc">
          <Icon name="tag" small /> {tag.name}
        </span>
        <span className="text-12 text-text-2">v{tag.version_number}</span>
        <span className="grow" />
        {!here && (
          <button type="button" className="btn" disabled={busy} onClick={() => onMove(number)}>
            Move {tag.name} to v{number}
          </button>
        )}
        <button type="button" className="btn ghost" disabled={busy} onClick={() => onMove(null)}>
          Take off {tag.name}
        </button>
      </div>
      <details className="text-12 text-text-2">
        <summary className="cursor-pointer">History</summary>
        <ol className="mt-1 grid gap-0.5">
          {tag.history.map((move, index) => (
            <li key={index}>
              {move.version_number === null ? "taken off" : `v${move.version_number}`}, {move.moved_by ?? "system"}, <Time at={move.moved_at} />
            </li>
          ))}
        </ol>
      </details>
    </li>
  );
}
