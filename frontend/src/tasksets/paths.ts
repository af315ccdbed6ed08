/** Addresses of the page that lead from a taskset to elsewhere. */
import type { TasksetOut } from "../api/types";

/** The form of a new job, on the version that `set` shows. */
export const startPath = (set: Pick<TasksetOut, "name" | "head">) => `/jobs/new?taskset=${encodeURIComponent(set.head ? `${set.name}@${set.head.number}` : set.name)}`;

/** What differs between two versions, given as numbers, tags or digests; one task of it opened. */
export const diffPath = (set: Pick<TasksetOut, "id">, from: number | string, to: number | string, slug?: string) =>
  `/tasksets/${set.id}/diff/${encodeURIComponent(from)}..${encodeURIComponent(to)}${slug === undefined ? "" : `?task=${encodeURIComponent(slug)}`}`;

export const taskPath = (set: Pick<TasksetOut, "id">, slug: string, version?: number) =>
  `/tasksets/${set.id}/tasks/${encodeURIComponent(slug)}${version === undefined ? "" : `?v=${version}`}`;

/** The editor: of a task, of a new one, or of a new one that starts as a copy. */
export const editPath = (set: Pick<TasksetOut, "id">, slug?: string, copy?: string) =>
  `/tasksets/${set.id}/edit${slug !== undefined ? `?slug=${encodeURIComponent(slug)}` : copy !== undefined ? `?copy=${encodeURIComponent(copy)}` : ""}`;
