/** Addresses of the import pages. An import into a set that is not made yet has no taskset in its address. */
import type { ImportOut } from "../api/types";

export const STEPS = ["file", "map", "check", "commit"] as const;
export type Step = (typeof STEPS)[number];

type Named = Pick<ImportOut, "id" | "taskset">;

export const newImport = (taskset: string | null) => (taskset ? `/tasksets/${taskset}/imports/new` : "/tasksets/import");
export const importsOf = (taskset: string) => `/tasksets/${taskset}/imports`;
const base = (found: Named) => (found.taskset ? `/tasksets/${found.taskset}/imports/${found.id}` : `/tasksets/import/${found.id}`);
export const stepPath = (found: Named, step: Exclude<Step, "file">) => `${base(found)}/${step}`;
export const reportPath = base;

/** Where an import is to be gone on with; its report when there is nothing to do any more. */
export function placeOf(found: Pick<ImportOut, "id" | "taskset" | "status" | "mapping" | "expires_at">): string {
  if (found.status === "ready" || found.status === "new" || (found.status === "failed" && found.mapping === null)) return stepPath(found, "map");
  if (found.status === "checking" || found.status === "checked" || found.status === "failed") return stepPath(found, "check");
  if (found.status === "committing") return stepPath(found, "commit");
  return reportPath(found);
}

const RUNNING: readonly ImportOut["status"][] = ["pulling", "checking", "committing"];
export const isRunning = (found: Pick<ImportOut, "status">) => RUNNING.includes(found.status);

/** What the commit changed; the tasks when there is no version before it. */
export function outcomePath(taskset: string, result: ImportOut["result"]): string {
  if (result?.version_number && result.previous_number) return `/tasksets/${taskset}/diff/${result.previous_number}..${result.version_number}`;
  return `/tasksets/${taskset}`;
}
