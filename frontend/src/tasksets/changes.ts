/** Words and marks of what differs, for the list of changes, drafts and dialogs. */
import type { DiffKind, DiffPage, DiffRow } from "../api/types";
import { count } from "../ui/formats";

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
