/** Restore and undo. Each is told in a toast that takes it back again. */
import { useQueryClient } from "@tanstack/react-query";
import { api } from "../api/client";
import type { TasksetOut, UploadOut } from "../api/types";
import { toast } from "../ui/toast";

export interface GoingBack {
  restore: (version: number, message?: string) => Promise<void>;
  /** Refused when `version` is no longer the head. */
  undo: (version: number) => Promise<void>;
}

export function useGoingBack(set: TasksetOut): GoingBack {
  const client = useQueryClient();
  const head = set.head?.number ?? 0;
  const post = async (path: string, body?: unknown) => {
    const done = await api<UploadOut>(`/api/tasksets/${set.id}/${path}`, { method: "POST", body });
    await client.invalidateQueries({ queryKey: ["tasksets"] });
    return done.version?.number ?? 0;
  };
  const restore = async (version: number, message = "") => {
    const made = await post("restore", { version, message });
    if (made === head) toast(`v${version} equals the head, v${head}: no new version`);
    else toast(`v${made} equals v${version}`, { text: "Undo", run: () => void told(undo(made)) });
  };
  const undo = async (version: number) => {
    const made = await post("undo", { version });
    toast(`v${made} undoes v${version}`, { text: "Undo", run: () => void told(restore(version)) });
  };
  return { restore, undo };
}

/** A toast has no place for an error but another toast. */
const told = (work: Promise<void>) => work.catch((reason: unknown) => toast(`Could not undo: ${reason instanceof Error ? reason.message : "no answer"}`));
