/** Archive a taskset, or take it out of the archive. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api } from "../api/client";
import type { TasksetOut } from "../api/types";
import { toast } from "../ui/toast";

export function useArchive(set: TasksetOut) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (archived: boolean) => api<TasksetOut>(`/api/tasksets/${set.id}`, { method: "PATCH", body: { archived } }),
    onSuccess: async (changed) => {
      await client.invalidateQueries({ queryKey: ["tasksets"] });
      toast(changed.archived_at ? `${set.title} archived` : `${set.title} restored`);
    },
  });
}
