import { describe, expect, it } from "vitest";
import type { TaskResult } from "../api/types";
import { byJob, meanOf } from "./results";

const run = (job: string, repeat: number, reward: number | null): TaskResult => ({
  id: `${job}-${repeat}`, revision: 1, task_index: 0, repeat, slug: "a", group_id: null, state: "completed", counted: reward === null ? "failed" : "graded", reward, failure_class: null,
  blame: null, error: null, attempt: 1, created_at: "2026-11-30T00:00:00Z", started_at: null, ended_at: null, total_tokens: null, cost_usd: null, step_count: 0, job_id: job, job_name: job,
  version_number: 1, model: null, agent_type: "noop", is_same_content: true,
});

describe("results of a task", () => {
  it("stand by job as they come, their repeats in order", () => {
    const jobs = byJob([run("new", 1, 1), run("new", 0, 0), run("old", 0, null)]);
    expect(jobs.map((job) => [job.id, job.runs.map((one) => one.repeat)])).toEqual([["new", [0, 1]], ["old", [0]]]);
  });

  it("have a mean of what was rewarded, and none of what failed", () => {
    expect(meanOf([{ reward: 1 }, { reward: 0 }, { reward: null }])).toBe(0.5);
    expect(meanOf([{ reward: null }])).toBeNull();
  });
});
