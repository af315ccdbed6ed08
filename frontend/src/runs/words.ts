/** What a run, job or version is called and looks like. Pure; the one place that knows the states. */
import type { Blame, EnvironmentVersionOut, JobOut, RunRow } from "../api/types";
import { count, plural } from "../ui/formats";
import type { StateKind } from "../ui/State";

interface Said {
  kind: StateKind;
  word: string;
}

export const BLAME_LETTER: Record<Blame, string> = { agent: "A", environment: "E", grader: "G", provider: "P", task: "T", platform: "L" };

export const UNSANDBOXED = "Ran as a plain process on the server, without a container.";

export const isOver = (run: Pick<RunRow, "counted">) => run.counted !== "pending";

export function runState(run: Pick<RunRow, "state" | "counted" | "attempt">): Said {
  if (run.counted === "graded") return { kind: "ok", word: run.state === "error" ? "graded after an error" : "graded" };
  if (run.counted === "failed") return { kind: "bad", word: "failed" };
  if (run.counted === "cancelled") return { kind: "can", word: "cancelled" };
  if (run.state === "queued") return { kind: "pen", word: "queued" };
  return { kind: "run", word: run.state === "provisioning" ? "starting" : run.state };
}

export function jobState(job: Pick<JobOut, "state" | "cancel_requested_at">): Said {
  if (job.state === "running" || job.state === "queued") {
    if (job.cancel_requested_at) return { kind: "run", word: "cancelling" };
    return job.state === "queued" ? { kind: "pen", word: "queued" } : { kind: "run", word: "running" };
  }
  return job.state === "cancelled" ? { kind: "can", word: "cancelled" } : { kind: "ok", word: "finished" };
}

export function versionState(version: Pick<EnvironmentVersionOut, "status" | "cancelling">): Said {
  if (version.status === "ready") return { kind: "ok", word: "ready" };
  if (version.status === "failed") return { kind: "bad", word: "failed" };
  if (version.status === "cancelled") return { kind: "can", word: "cancelled" };
  if (version.cancelling) return { kind: "can", word: "cancelling" };
  return { kind: version.status === "pending" ? "pen" : "run", word: version.status };
}

export type Cell =
  | { kind: "reward"; value: number; shade: string; fill: number; outside: boolean; word: string }
  | { kind: "fail"; letter: string; word: string }
  | { kind: "none" | "can" | "pen" | "run"; word: string };

/** The mark of a run in the matrix. Only a graded run has a reward; nothing else ever looks like 0. */
export function cellOf(run: RunRow): Cell {
  if (run.counted === "graded") return run.reward === null ? { kind: "none", word: "no reward" } : rewardCell(run.reward);
  if (run.counted === "failed") {
    const blamed = run.blame ? `failed, blamed on ${run.blame}` : "failed";
    return { kind: "fail", letter: run.blame ? BLAME_LETTER[run.blame] : "!", word: blamed };
  }
  if (run.counted === "cancelled") return { kind: "can", word: "cancelled" };
  return run.state === "queued" ? { kind: "pen", word: "pending, queued" } : { kind: "run", word: `pending, ${runState(run).word}` };
}

export function rewardCell(value: number): Cell {
  const fill = Math.min(1, Math.max(0, value));
  return { kind: "reward", value, shade: shadeOf(fill), fill, outside: value < 0 || value > 1, word: `reward ${String(Number(value.toFixed(4))).replace("-", "−")}` };
}

export function shadeOf(fill: number): string {
  if (fill <= 0) return "--r0";
  if (fill < 0.375) return "--r25";
  if (fill < 0.625) return "--r50";
  return fill < 1 ? "--r75" : "--r100";
}

/** `2 of 10 tasks` for a job that ran a part of its version. */
export function tasksOf(job: Pick<JobOut, "task_count" | "taskset">): string {
  const whole = job.taskset?.task_count ?? 0;
  return job.task_count < whole ? `${count(job.task_count)} of ${plural(whole, "task")}` : plural(job.task_count, "task");
}
