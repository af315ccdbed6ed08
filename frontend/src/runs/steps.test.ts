import { describe, expect, it } from "vitest";
import type { Step } from "../api/types";
import { blockOf, callTitle, entriesOf, gradeOf, inOrder, readStep } from "./steps";

const step = (payload: unknown, change: Partial<Step> = {}): Step => ({
  seq: 1,
  span_id: "a",
  attempt: 1,
  schema_tag: "hud.step.v1",
  kind: "agent",
  step_id: 1,
  name: "step.agent",
  started_at: "2026-11-30T15:00:00Z",
  ended_at: "2026-11-30T15:00:02Z",
  status: "OK",
  error: null,
  payload,
  ...change,
});
const agent = (...ids: string[]) => step({ source: "agent", content: "Looking.", tool_calls: ids.map((id) => ({ id, name: "bash", arguments: { command: `ls ${id}` } })) });
const tool = (id: string) => step({ source: "tool", call: { id, name: "bash", arguments: {} }, result: { content: [{ type: "text", text: "out" }], isError: false } });
const reads = (...steps: Step[]) => steps.map((each, index) => readStep(each, index + 1));

describe("reading a step", () => {
  it("tells an agent's text, reasoning, calls and use", () => {
    const read = readStep(step({ source: "agent", content: "Hi", reasoning: "Hm", tool_calls: [], usage: { prompt_tokens: 11, completion_tokens: 7 } }), 3);
    expect(read).toMatchObject({ kind: "agent", text: "Hi", reasoning: "Hm", seconds: 2, usage: { prompt: 11, completion: 7, cached: null } });
  });

  it("shows a prompt sent as one block or as several", () => {
    const read = readStep(step({ source: "user", messages: [{ role: "user", content: { type: "text", text: "One" } }, { role: "user", content: [{ type: "text", text: "Two" }] }] }), 1);
    expect(read.blocks).toEqual([
      { type: "text", text: "One" },
      { type: "text", text: "Two" },
    ]);
  });

  it("marks a tool error, a failed span and a system note as errors", () => {
    expect(readStep(step({ source: "tool", call: { name: "x", arguments: {} }, result: { isError: true, content: [] } }), 1).isError).toBe(true);
    expect(readStep(step({ source: "system", error: "timed out" }), 1)).toMatchObject({ isError: true, title: "timed out" });
    expect(readStep(step(null, { status: "ERROR", kind: "response_automation" }), 1)).toMatchObject({ kind: "span", isError: true });
  });

  it("keeps unknown spans and payloads of any shape", () => {
    expect(readStep(step([1, 2], { kind: "odd", schema_tag: null, name: "odd" }), 1)).toMatchObject({ kind: "span", title: "odd", json: "[1,2]" });
  });

  it("loads pictures inline or by digest, and nothing that is no picture", () => {
    expect(blockOf({ type: "image", data: "AAAA", mimeType: "image/png" })).toMatchObject({ source: "data:image/png;base64,AAAA" });
    expect(blockOf({ type: "blob", sha256: "ab", mime_type: "image/png", size_bytes: 9 })).toMatchObject({ type: "image", source: "/api/blobs/ab" });
    expect(blockOf({ type: "image", data: { type: "blob", sha256: "cd", mime_type: "image/webp" }, mimeType: "image/webp" })).toMatchObject({ source: "/api/blobs/cd" });
    expect(blockOf({ type: "image", data: "AAAA", mimeType: "image/svg+xml" })).toMatchObject({ type: "other" });
  });

  it("names a call by its telling argument", () => {
    expect(callTitle({ id: null, name: "bash", args: '{"command":"pytest -q"}' })).toBe("bash pytest -q");
    expect(callTitle({ id: null, name: "computer", args: '{"action":"left_click","coordinate":[842,566]}' })).toBe("left_click 842, 566");
    expect(callTitle({ id: null, name: "bash", args: "{broken" })).toBe("bash {broken");
  });
});

describe("joining calls to results", () => {
  it("puts results that follow at once into their calls, each exactly once", () => {
    const entries = entriesOf(reads(agent("c1", "c2"), tool("c2"), tool("c1")));
    expect(entries).toHaveLength(1);
    expect(entries[0]?.joined.map((each) => each.result?.n)).toEqual([3, 2]);
  });

  it("links a result that comes later and still shows it in its place", () => {
    const entries = entriesOf(reads(agent("c1"), agent(), tool("c1")));
    expect(entries.map((entry) => entry.read.n)).toEqual([1, 2, 3]);
    expect(entries[0]?.joined[0]).toMatchObject({ result: null, elsewhere: 3 });
  });

  it("waits for a result that has not come and shows results without a call", () => {
    const entries = entriesOf(reads(agent("c1"), tool("other")));
    expect(entries).toHaveLength(2);
    expect(entries[0]?.joined[0]).toMatchObject({ result: null, elsewhere: null });
  });
});

describe("the grade frame", () => {
  it("gives score and the tree of subscores", () => {
    const grade = gradeOf('{"score":0.75,"subscores":[{"name":"tests","value":1,"weight":0.5,"children":[{"name":"unit","value":1}]}],"info":{"a":1}}');
    expect(grade).toMatchObject({ score: 0.75, info: '{"a":1}' });
    expect(grade?.subscores[0]).toMatchObject({ name: "tests", value: 1, weight: 0.5 });
    expect(grade?.subscores[0]?.children[0]?.name).toBe("unit");
  });

  it("has no score when none was given", () => {
    expect(gradeOf('{"isError":true}')).toMatchObject({ score: null, isError: true });
    expect(gradeOf(null)).toBeNull();
    expect(gradeOf("[]")).toBeNull();
  });
});

describe("the order of reported steps", () => {
  const at = (step_id: number | null, second: number) => step({}, { step_id, span_id: `${step_id}-${second}`, started_at: `2026-11-30T15:00:0${second}Z` });

  it("goes by step id whatever order they arrived in, and by start for those without", () => {
    const sorted = inOrder([at(3, 5), at(1, 1), at(null, 3), at(2, 2)]);
    expect(sorted.map((each) => each.step_id)).toEqual([1, 2, null, 3]);
  });

  it("leaves steps alone that stand right", () => {
    const steps = [at(1, 1), at(null, 0), at(2, 2)];
    expect(inOrder(steps)).toBe(steps);
  });
});
