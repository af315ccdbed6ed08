import { describe, expect, it } from "vitest";
import type { RunRow } from "../api/types";
import { difference } from "../ui/Progress";
import { matrixRows, tally } from "./tally";
import { cellOf, rewardCell, runState, tasksOf } from "./words";

let made = 0;
export const run = (change: Partial<RunRow> = {}): RunRow => ({
  id: `run-${made++}`,
  revision: 1,
  task_index: 0,
  repeat: 0,
  slug: "0000",
  group_id: null,
  state: "queued",
  counted: "pending",
  reward: null,
  failure_class: null,
  blame: null,
  error: null,
  attempt: 1,
  created_at: "2026-11-30T15:00:00Z",
  started_at: null,
  ended_at: null,
  total_tokens: null,
  cost_usd: null,
  step_count: 0,
  ...change,
});

const graded = (reward: number) => run({ state: "completed", counted: "graded", reward });

describe("the tally of a job", () => {
  it("adds up to what was expected", () => {
    const rows = [graded(1), graded(0), run({ state: "error", counted: "failed" }), run({ state: "cancelled", counted: "cancelled" }), run(), run({ state: "running" })];
    const { counts } = tally(rows, 6);
    expect(counts).toMatchObject({ graded: 2, failed: 1, cancelled: 1, pending: 2, running: 1, queued: 1 });
    expect(difference(counts)).toBe(0);
  });

  it("shows a difference when a run is missing", () => {
    expect(difference(tally([graded(1)], 2).counts)).toBe(1);
  });

  it("averages graded runs only: a failed run is no zero", () => {
    const sums = tally([graded(1), graded(0.5), run({ state: "error", counted: "failed" }), run()], 4);
    expect(sums.mean).toBe(0.75);
    expect(sums.passRate).toBe(0.5);
  });

  it("has no mean, tokens or cost when none is known", () => {
    expect(tally([run()], 1)).toMatchObject({ mean: null, passRate: null, tokens: null, cost: null });
  });
});

describe("the rows of the matrix", () => {
  it("keeps the order of the plan and sorts repeats", () => {
    const tasks = [0, 1].map((task_index) => ({ task_index, slug: `000${task_index}`, prompt: "" }));
    const rows = matrixRows(tasks, [run({ task_index: 1, repeat: 1 }), run({ task_index: 1, repeat: 0 }), run({ task_index: 0 })]);
    expect(rows.map((row) => row.slug)).toEqual(["0000", "0001"]);
    expect(rows[1]?.runs.map((each) => each.repeat)).toEqual([0, 1]);
  });

  it("marks a task whose repeats differ as mixed, whatever failed beside them", () => {
    const failed = run({ counted: "failed", state: "error" });
    expect(matrixRows([], [graded(1), graded(0), failed])[0]?.mixed).toBe(true);
    expect(matrixRows([], [graded(1), failed])[0]?.mixed).toBe(false);
  });

  it("draws runs outside the plan too, grouped", () => {
    const rows = matrixRows([], [run({ task_index: null, slug: null, group_id: "a" }), run({ task_index: null, slug: null, group_id: "a" })]);
    expect(rows).toHaveLength(1);
    expect(rows[0]?.runs).toHaveLength(2);
  });
});

describe("the mark of a run", () => {
  it("gives a number only to a graded run", () => {
    expect(cellOf(graded(0))).toMatchObject({ kind: "reward", shade: "--r0", word: "reward 0" });
    expect(cellOf(run({ counted: "failed", state: "error", blame: "provider" }))).toEqual({ kind: "fail", letter: "P", word: "failed, blamed on provider" });
    expect(cellOf(run({ counted: "failed", state: "error", blame: "platform" }))).toMatchObject({ letter: "L" });
    expect(cellOf(run())).toMatchObject({ kind: "pen" });
    expect(cellOf(run({ state: "grading" }))).toMatchObject({ kind: "run", word: "pending, grading" });
    expect(cellOf(run({ state: "cancelled", counted: "cancelled" }))).toMatchObject({ kind: "can" });
  });

  it("notches rewards outside zero to one and never fills past the edge", () => {
    expect(rewardCell(3.2)).toMatchObject({ outside: true, fill: 1 });
    expect(rewardCell(-1)).toMatchObject({ outside: true, fill: 0, word: "reward −1" });
    expect(rewardCell(0.99)).toMatchObject({ shade: "--r75" });
  });

  it("names a run that was graded although it ended in an error", () => {
    expect(runState(run({ state: "error", counted: "graded", reward: 1 })).word).toBe("graded after an error");
  });
});

describe("the tasks of a job", () => {
  const job = (task_count: number, whole: number | null) => ({ task_count, taskset: whole === null ? null : { id: "1", name: "t", version_id: "2", version_number: 1, digest: null, task_count: whole } });

  it("are some of a version's, when not all were run", () => {
    expect(tasksOf(job(2, 10))).toBe("2 of 10 tasks");
    expect(tasksOf(job(10, 10))).toBe("10 tasks");
    expect(tasksOf(job(1, null))).toBe("1 task");
  });
});
