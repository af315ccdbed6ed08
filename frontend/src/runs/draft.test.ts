import { describe, expect, it } from "vitest";
import type { Draft } from "./draft";
import { fieldOf, jobOf } from "./draft";

const draft = (change: Partial<Draft> = {}): Draft => ({
  agent: "openai_compatible",
  loop: "openai_compatible",
  mode: "eval",
  policy: "",
  model: "gpt-x",
  config: "",
  replay: "column",
  column: "",
  answers: "",
  group: "1",
  concurrent: "",
  timeout: "",
  maxSteps: "",
  name: "",
  ...change,
});

describe("the new-job form as a request", () => {
  it("gives a Task App its mode and policy", () => {
    expect(jobOf(draft({ agent: "task_app", mode: "rl", policy: '{"model":"m"}' }), "x").body?.agent).toEqual({ type: "task_app", config: { mode: "rl", policy: { model: "m" } } });
    expect(jobOf(draft({ agent: "task_app" }), "x").body?.agent.config).toEqual({ mode: "eval" });
    expect(jobOf(draft({ agent: "task_app", policy: "{" }), "x").error).toContain("The policy is not JSON");
  });

  it("names one of HUD's agents with the model's fields, and none for an agent without a model", () => {
    expect(jobOf(draft({ loop: "claude", maxSteps: "5" }), "x").body?.agent).toEqual({ type: "claude", config: { model: "gpt-x", max_steps: 5 } });
    expect(jobOf(draft({ agent: "noop", loop: "claude" }), "x").body?.agent).toEqual({ type: "noop", config: {} });
  });

  it("sends only what was filled in", () => {
    expect(jobOf(draft(), "gsm8k@1")).toEqual({ error: null, body: { taskset: "gsm8k@1", agent: { type: "openai_compatible", config: { model: "gpt-x" } }, group: 1 } });
  });

  it("puts limits, steps and the chosen tasks in", () => {
    const { body } = jobOf(draft({ group: "4", concurrent: "8", timeout: "90", maxSteps: "12", config: '{"temperature":0}', name: " nightly " }), "gsm8k", ["a"]);
    expect(body).toEqual({
      taskset: "gsm8k",
      slugs: ["a"],
      agent: { type: "openai_compatible", config: { temperature: 0, model: "gpt-x", max_steps: 12 } },
      group: 4,
      max_concurrent: 8,
      rollout_timeout: 90,
      name: "nightly",
    });
  });

  it("replays from a column or a list", () => {
    expect(jobOf(draft({ agent: "replay", column: "recorded" }), "x").body?.agent.config).toEqual({ column: "recorded" });
    expect(jobOf(draft({ agent: "replay", replay: "answers", answers: '{"a":"1"}' }), "x").body?.agent.config).toEqual({ answers: { a: "1" } });
  });

  it("says what is missing instead of sending it", () => {
    expect(jobOf(draft({ model: " " }), "x")).toEqual({ body: null, error: "Name a model." });
    expect(jobOf(draft({ agent: "replay" }), "x").error).toBe("Name the column that holds the answers.");
    expect(jobOf(draft({ config: "[1]" }), "x").error).toBe("The agent config must be a JSON object.");
    expect(jobOf(draft({ config: "{" }), "x").error).toContain("is not JSON");
  });

  it("finds the section for each problem of the server", () => {
    expect(fieldOf("agent.config.model")).toBe("agent");
    expect(fieldOf("slugs[3]")).toBe("taskset");
    expect(fieldOf("max_concurrent")).toBe("limits");
    expect(fieldOf("")).toBe("");
  });
});
