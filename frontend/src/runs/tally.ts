/** Figures of a job from its rows: the live page counts what it shows, so the sum line can be checked against the server. Pure. */
import type { Counts, RunRow } from "../api/types";

export interface Tally {
  counts: Counts;
  mean: number | null;
  passRate: number | null;
  tokens: number | null;
  cost: number | null;
  endedAt: string | null;
}

/** `expected` is the server's plan; the parts are counted here. */
export function tally(rows: Iterable<RunRow>, expected: number): Tally {
  const counts: Counts = { expected, graded: 0, failed: 0, cancelled: 0, pending: 0, running: 0, queued: 0 };
  let sum = 0;
  let passed = 0;
  let tokens: number | null = null;
  let cost: number | null = null;
  let endedAt: string | null = null;
  for (const row of rows) {
    counts[row.counted] += 1;
    if (row.counted === "pending") counts[row.state === "queued" ? "queued" : "running"] += 1;
    if (row.counted === "graded" && row.reward !== null) {
      sum += row.reward;
      if (row.reward >= 1) passed += 1;
    }
    if (row.total_tokens !== null) tokens = (tokens ?? 0) + row.total_tokens;
    if (row.cost_usd !== null) cost = (cost ?? 0) + row.cost_usd;
    if (row.ended_at && (!endedAt || row.ended_at > endedAt)) endedAt = row.ended_at;
  }
  const some = counts.graded > 0;
  return { counts, mean: some ? sum / counts.graded : null, passRate: some ? passed / counts.graded : null, tokens, cost, endedAt };
}

/** Rows of the matrix: one per task in plan order, its repeats in order; runs without a task of the plan follow, by group. */
export interface MatrixRow {
  key: string;
  slug: string | null;
  prompt: string;
  runs: RunRow[];
  mean: number | null;
  mixed: boolean;
  failed: boolean;
  running: boolean;
}

export function matrixRows(tasks: { task_index: number; slug: string | null; prompt: string }[], rows: Iterable<RunRow>): MatrixRow[] {
  const byKey = new Map<string, MatrixRow>();
  const blank = (key: string, slug: string | null, prompt: string): MatrixRow => ({ key, slug, prompt, runs: [], mean: null, mixed: false, failed: false, running: false });
  for (const task of tasks) byKey.set(`t${task.task_index}`, blank(`t${task.task_index}`, task.slug, task.prompt));
  for (const run of rows) {
    const key = run.task_index === null ? `g${run.slug ?? run.group_id ?? run.id}` : `t${run.task_index}`;
    let row = byKey.get(key);
    if (!row) byKey.set(key, (row = blank(key, run.slug, "")));
    row.runs.push(run);
  }
  return [...byKey.values()].map(finished);
}

function finished(row: MatrixRow): MatrixRow {
  row.runs.sort((a, b) => a.repeat - b.repeat || a.created_at.localeCompare(b.created_at));
  const rewards = row.runs.flatMap((run) => (run.counted === "graded" && run.reward !== null ? [run.reward] : []));
  row.mean = rewards.length ? rewards.reduce((sum, value) => sum + value, 0) / rewards.length : null;
  row.mixed = rewards.length > 1 && Math.min(...rewards) !== Math.max(...rewards);
  row.failed = row.runs.some((run) => run.counted === "failed");
  row.running = row.runs.some((run) => run.counted === "pending" && run.state !== "queued");
  return row;
}
