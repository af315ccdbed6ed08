/** Words and marks of what differs, for the list of changes, drafts and dialogs. */
import type { DiffKind, DiffPage, DiffRow, DraftChange, DraftEdit, DraftOut, UploadOut } from "../api/types";
import { count, plural } from "../ui/formats";

export const MARK: Record<DiffKind, { sign: string; word: string; className: string }> = {
  changed: { sign: "~", word: "changed", className: "ch" },
  added: { sign: "+", word: "added", className: "ad" },
  removed: { sign: "−", word: "removed", className: "rm" },
  moved: { sign: ">", word: "moved", className: "mv" },
};

/** `2 added, 1 changed`; `nothing changes` for equal versions. */
export function countsInWords(counts: DiffPage["counts"]): string {
  const parts = (["added", "removed", "changed", "moved"] as const).filter((kind) => counts[kind] > 0).map((kind) => `${count(counts[kind])} ${kind}`);
  return parts.join(", ") || "nothing changes";
}

/** What a row of the list says beside its slug; places count from 1. */
export function rowInWords(row: DiffRow): string {
  if (row.kind === "moved") return `moved from ${(row.from_position ?? 0) + 1} to ${(row.to_position ?? 0) + 1}`;
  if (row.kind !== "changed") return MARK[row.kind].word;
  const names = row.fields.map((field) => field.path.replace(/^args\./, ""));
  return [...new Set(names)].join(", ") + (row.moved ? ", moved" : "");
}

type Numbers = Pick<DraftOut, "changed" | "added" | "removed" | "moved">;

/** `2 changed, 1 removed`. */
export const draftInWords = (draft: Numbers) =>
  (["changed", "added", "removed", "moved"] as const).filter((kind) => draft[kind] > 0).map((kind) => `${count(draft[kind])} ${kind}`).join(", ");

/** A draft in which everything was put back as it was holds nothing. */
export const holdsEdits = (draft: DraftOut | null | undefined): draft is DraftOut => !!draft && draft.changed + draft.added + draft.removed + draft.moved > 0;

/** A `set` without a text only moves the task. */
export const kindOfChange = (change: Pick<DraftChange, "op" | "text">): DiffKind =>
  change.op === "add" ? "added" : change.op === "remove" ? "removed" : change.text === null ? "moved" : "changed";

/** What a write made of the set: `v13: 2 tasks changed, 1 task removed`. */
export function uploadInWords(done: UploadOut): string {
  const parts = [
    done.tasks_created && `${plural(done.tasks_created, "task")} new`,
    done.tasks_updated && `${plural(done.tasks_updated, "task")} changed`,
    done.tasks_removed && `${plural(done.tasks_removed, "task")} removed`,
  ].filter(Boolean);
  return parts.length && done.version ? `v${done.version.number}: ${parts.join(", ")}` : "Nothing changed, no new version";
}

/** The edit that makes a change again, as after it was forgotten. */
export const again = ({ slug, op, text, position }: DraftChange): DraftEdit => ({ op, slug, text, position });
