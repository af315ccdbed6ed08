/** Bulk edits go into the person's draft, on the server: by name, or by the question that all answer. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api } from "../../api/client";
import type { DraftBulk, DraftOut, TasksetOut } from "../../api/types";
import { plural } from "../../ui/formats";
import { toast } from "../../ui/toast";
import type { Selection } from "./selection";
import { bulkTarget, sizeOf } from "./selection";

/** Exactly one of the three. */
export type Work = Pick<DraftBulk, "set_columns"> | { remove: true } | { duplicate: true };

const done = (work: Work, count: number) => `${plural(count, "task")} ${"remove" in work ? "removed" : "duplicate" in work ? "duplicated" : "changed"} in your draft`;

export function useBulk(set: TasksetOut, known: ReadonlyMap<string, unknown>, onDone: () => void) {
  const client = useQueryClient();
  const refresh = () => client.invalidateQueries({ queryKey: ["tasksets", "draft", set.id] });
  const undo = async (slugs: readonly string[]) => {
    await api<DraftOut>(`/api/tasksets/${set.id}/draft`, { method: "PUT", body: { changes: slugs.map((slug) => ({ op: "reset", slug })) } });
    await refresh();
  };
  return useMutation({
    mutationFn: ({ selection, work }: { selection: Selection; work: Work }) => api<DraftOut>(`/api/tasksets/${set.id}/draft/bulk`, { method: "POST", body: { ...bulkTarget(selection), ...work } }),
    onSuccess: async (_draft, { selection, work }) => {
      await refresh();
      const slugs = selection.kind === "some" ? [...selection.slugs] : [];
      const mayUndo = slugs.length > 0 && !("duplicate" in work) && slugs.every((slug) => !known.has(slug));
      toast(done(work, sizeOf(selection)), mayUndo ? { text: "Undo", run: () => void undo(slugs) } : undefined);
      onDone();
    },
  });
}

export type Kind = "text" | "json" | "none";

/** The columns to set as JSON text, the value as it was typed; null when the value is no JSON. */
export function columnsText(name: string, kind: Kind, value: string): string | null {
  const raw = kind === "none" ? "null" : kind === "text" ? JSON.stringify(value) : value.trim();
  if (kind === "json") {
    try {
      JSON.parse(raw);
    } catch {
      return null;
    }
  }
  return `{${JSON.stringify(name)}:${raw}}`;
}
