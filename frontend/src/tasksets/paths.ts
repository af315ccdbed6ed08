/** Addresses of the page that lead from a taskset to elsewhere. */
import type { TasksetOut } from "../api/types";

/** The form of a new job, on the version that `set` shows. */
export const startPath = (set: Pick<TasksetOut, "name" | "head">) => `/jobs/new?taskset=${encodeURIComponent(set.head ? `${set.name}@${set.head.number}` : set.name)}`;
