/** Runs of one task gathered by job. Pure. */
import type { TaskResult } from "../api/types";

export interface JobResults {
  id: string;
  name: string;
  version: number | null;
  model: string | null;
  isSame: boolean | null;
  at: string;
  runs: TaskResult[];
}

/** In the order in which they come, newest first; the repeats of a job by their number. */
export function byJob(results: readonly TaskResult[]): JobResults[] {
  const jobs = new Map<string, JobResults>();
  for (const run of results) {
    const known = jobs.get(run.job_id);
    if (known) known.runs.push(run);
    else jobs.set(run.job_id, { id: run.job_id, name: run.job_name, version: run.version_number, model: run.model ?? run.agent_type, isSame: run.is_same_content, at: run.created_at, runs: [run] });
  }
  for (const job of jobs.values()) job.runs.sort((a, b) => a.repeat - b.repeat);
  return [...jobs.values()];
}

/** Of the runs that have a reward; null when none has: nothing else ever counts as 0. */
export function meanOf(runs: readonly Pick<TaskResult, "reward">[]): number | null {
  const rewards = runs.flatMap((run) => (run.reward === null ? [] : [run.reward]));
  return rewards.length ? rewards.reduce((sum, one) => sum + one, 0) / rewards.length : null;
}
