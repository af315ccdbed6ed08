/** Writes of the person's draft: edit, discard, commit. What others want of a draft goes through here, so that every view of it follows. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../api/client";
import { draftQuery } from "../api/queries";
import type { DraftEdit, DraftOut, TasksetOut, UploadOut } from "../api/types";
import { toast } from "../ui/toast";
import { again, uploadInWords } from "./changes";
import type { Decisions } from "./decisions";
import { useGoingBack } from "./goingBack";

export interface Commit extends Decisions {
  message: string;
  tag: string;
}

/** Counts and conflicts of the draft, without its texts; null when there is none. */
export const useDraft = (set: Pick<TasksetOut, "id">) => useQuery(draftQuery(set.id, { limit: 1 })).data ?? null;

export function useEditing(set: Pick<TasksetOut, "id">) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (changes: DraftEdit[]) => api<DraftOut>(`/api/tasksets/${set.id}/draft`, { method: "PUT", body: { changes } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["tasksets", "draft", set.id] }),
  });
}

/** One edit of one task, told in a toast whose undo leaves the draft as it was for that task, earlier edits included. */
export function useTaskEdit(set: Pick<TasksetOut, "id">) {
  const client = useQueryClient();
  const editing = useEditing(set);
  return useMutation({
    mutationFn: async ({ change, said }: { change: DraftEdit; said: string }) => {
      const draft = await client.fetchQuery({ ...draftQuery(set.id, { slug: change.slug }), staleTime: 0 });
      await editing.mutateAsync([change]);
      toast(said, { text: "Undo", run: () => editing.mutate([{ op: "reset", slug: change.slug }, ...(draft?.changes ?? []).map(again)]) });
    },
  });
}

export function useDiscarding(set: Pick<TasksetOut, "id">) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => api(`/api/tasksets/${set.id}/draft`, { method: "DELETE" }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["tasksets", "draft", set.id] });
      toast("Draft discarded");
    },
  });
}

/** One version of all edits, tagged when a tag is given; told in a toast that undoes it. */
export function useCommitting(set: TasksetOut) {
  const client = useQueryClient();
  const { undo } = useGoingBack(set);
  return useMutation({
    mutationFn: async ({ tag, ...body }: Commit) => {
      const done = await api<UploadOut>(`/api/tasksets/${set.id}/draft/commit`, { method: "POST", body });
      if (tag && done.version) await api(`/api/tasksets/${set.id}/tags/${encodeURIComponent(tag)}`, { method: "PUT", body: { version: done.version.number } });
      return done;
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["tasksets"] }),
    onSuccess: (done) => {
      const made = done.version?.number ?? 0;
      const isNew = made > (set.head?.number ?? 0);
      toast(uploadInWords(done), isNew ? { text: "Undo", run: () => void undo(made).catch((reason: Error) => toast(`Could not undo: ${reason.message}`)) } : undefined);
    },
  });
}
