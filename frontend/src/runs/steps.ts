/** Steps as a person reads them: payloads made plain, tool calls joined to their results by id, one line each for the outline. Pure. */
import type { Step } from "../api/types";
import { between } from "../ui/formats";

export interface TextBlock {
  type: "text";
  text: string;
}
export interface ImageBlock {
  type: "image";
  source: string;
  about: string;
}
export interface OtherBlock {
  type: "other";
  text: string;
}
export type Block = TextBlock | ImageBlock | OtherBlock;

export interface Call {
  id: string | null;
  name: string;
  /** As JSON text, or what the model sent when that was no object. */
  args: string;
}

export interface Read {
  step: Step;
  /** From 1, as shown. */
  n: number;
  kind: "task" | "user" | "agent" | "tool" | "subagent" | "system" | "span";
  title: string;
  text: string | null;
  reasoning: string | null;
  blocks: Block[];
  calls: Call[];
  /** A tool step's own call. */
  call: Call | null;
  isError: boolean;
  error: string | null;
  seconds: number | null;
  usage: Usage | null;
  phase: string | null;
  json: string | null;
  refusal: string | null;
}

export interface Usage {
  prompt: number | null;
  completion: number | null;
  cached: number | null;
  cost: number | null;
}

/** One entry of the transcript: a step, with the tool steps that answer its calls right after it joined in. */
export interface Entry {
  read: Read;
  joined: { call: Call; result: Read | null; elsewhere: number | null }[];
}

type Obj = Record<string, unknown>;
const isObj = (value: unknown): value is Obj => typeof value === "object" && value !== null && !Array.isArray(value);
const str = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);
const num = (value: unknown): number | null => (typeof value === "number" ? value : null);
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const KINDS = ["task", "user", "agent", "tool", "subagent", "system"] as const;

export function readStep(step: Step, n: number): Read {
  const payload = isObj(step.payload) ? step.payload : {};
  const kind = KINDS.find((each) => each === (str(payload["source"]) ?? step.kind)) ?? "span";
  const base: Read = {
    step,
    n,
    kind,
    title: step.name,
    text: null,
    reasoning: null,
    blocks: [],
    calls: [],
    call: null,
    isError: false,
    error: step.error ?? str(payload["error"]),
    seconds: between(step.started_at, step.ended_at),
    usage: usageOf(payload["usage"]),
    phase: null,
    json: null,
    refusal: str(payload["refusal"]),
  };
  return finish(base, payload);
}

function finish(read: Read, payload: Obj): Read {
  switch (read.kind) {
    case "agent": {
      read.text = str(payload["content"]);
      read.reasoning = str(payload["reasoning"]);
      read.calls = list(payload["tool_calls"]).filter(isObj).map(callOf);
      read.title = read.text ?? read.refusal ?? (read.calls[0] ? callTitle(read.calls[0]) : "no text");
      break;
    }
    case "tool": {
      const result = isObj(payload["result"]) ? payload["result"] : {};
      read.call = isObj(payload["call"]) ? callOf(payload["call"]) : null;
      read.blocks = list(result["content"]).map(blockOf);
      read.isError = result["isError"] === true;
      read.title = read.call ? callTitle(read.call) : read.step.name;
      break;
    }
    case "user": {
      read.seconds = null;
      read.blocks = list(payload["messages"]).filter(isObj).flatMap((message) => (Array.isArray(message["content"]) ? message["content"] : [message["content"]])).map(blockOf);
      read.title = firstWords(read.blocks) ?? "Prompt";
      break;
    }
    case "task": {
      const call = isObj(payload["task_call"]) ? payload["task_call"] : {};
      read.phase = str(call["phase"]);
      read.title = read.phase === "evaluate" ? "Grade" : "Set up task";
      read.json = isObj(call["result"]) ? JSON.stringify(call["result"]) : null;
      read.text = isObj(call["arguments"]) ? JSON.stringify(call["arguments"]) : null;
      break;
    }
    case "subagent": {
      const inner = isObj(payload["subagent"]) ? payload["subagent"] : {};
      read.text = str(inner["content"]);
      read.title = `Sub-agent, ${list(inner["steps"]).length} steps`;
      read.json = JSON.stringify(inner);
      break;
    }
    case "system":
      read.title = read.error ?? "System note";
      break;
    case "span":
      read.json = read.step.payload === null || read.step.payload === undefined ? null : JSON.stringify(read.step.payload);
  }
  read.isError ||= read.error !== null || read.step.status === "ERROR";
  return read;
}

function usageOf(value: unknown): Usage | null {
  if (!isObj(value)) return null;
  return { prompt: num(value["prompt_tokens"]), completion: num(value["completion_tokens"]), cached: num(value["cached_tokens"]), cost: num(value["cost_usd"]) };
}

function callOf(value: Obj): Call {
  const args = value["arguments"];
  return { id: str(value["id"]), name: str(value["name"]) ?? "tool", args: typeof args === "string" ? args : JSON.stringify(args ?? {}) };
}

/** A block of the wire: text, a picture (inline or by digest), or something that is shown as JSON. */
export function blockOf(value: unknown): Block {
  if (typeof value === "string") return { type: "text", text: value };
  if (!isObj(value)) return { type: "other", text: JSON.stringify(value) };
  if (value["type"] === "text" && typeof value["text"] === "string") return { type: "text", text: value["text"] };
  const data = value["data"];
  const blob = value["type"] === "blob" ? value : isObj(data) && data["type"] === "blob" ? data : null;
  const mime = str(value["mimeType"]) ?? str(value["mime_type"]) ?? str(blob?.["mime_type"]) ?? "image/png";
  if (blob && mime.startsWith("image/")) return { type: "image", source: `/api/blobs/${String(blob["sha256"])}`, about: `${mime}, ${String(blob["size_bytes"] ?? "?")} bytes` };
  if (value["type"] === "image" && typeof data === "string" && /^image\/(png|jpeg|webp|gif|avif)$/.test(mime)) return { type: "image", source: `data:${mime};base64,${data}`, about: mime };
  return { type: "other", text: JSON.stringify(value) };
}

function firstWords(blocks: Block[]): string | null {
  const text = blocks.find((block) => block.type === "text");
  return text ? text.text.slice(0, 200) : null;
}

/** The telling argument of a call: `pytest -q`, `shop/pricing.py`, `left_click 842, 566`. */
export function callTitle(call: Call): string {
  let args: unknown;
  try {
    args = JSON.parse(call.args);
  } catch {
    return `${call.name} ${call.args}`.slice(0, 200);
  }
  if (!isObj(args)) return call.name;
  const action = str(args["action"]);
  const place = list(args["coordinate"]).map(String).join(", ");
  if (action) return `${action} ${place}`.trim();
  const told = str(args["command"]) ?? str(args["path"]) ?? str(args["query"]) ?? Object.values(args).find((value) => typeof value === "string");
  return told ? `${call.name} ${String(told)}`.slice(0, 200) : call.name;
}

/** Reported steps arrive in any order: by step id, those without one by their start. Steps that stand right already are left alone. */
export function inOrder(steps: Step[]): Step[] {
  const numbered = steps.filter((step) => step.step_id !== null);
  if (numbered.every((step, index) => index === 0 || Number(numbered[index - 1]?.step_id) <= Number(step.step_id))) return steps;
  numbered.sort((a, b) => Number(a.step_id) - Number(b.step_id) || startOf(a).localeCompare(startOf(b)));
  const others = steps.filter((step) => step.step_id === null).sort((a, b) => startOf(a).localeCompare(startOf(b)));
  const merged: Step[] = [];
  for (const step of numbered) {
    while (others[0] && startOf(others[0]) < startOf(step)) merged.push(others.shift() as Step);
    merged.push(step);
  }
  return [...merged, ...others];
}

const startOf = (step: Step) => step.started_at ?? step.ended_at ?? "";

/** Results that follow their call at once are shown inside it; later ones are linked. Each tool step appears exactly once. */
export function entriesOf(reads: Read[]): Entry[] {
  const byId = new Map<string, number>();
  reads.forEach((read, index) => {
    if (read.kind === "tool" && read.call?.id) byId.set(read.call.id, index);
  });
  const inside = new Set<number>();
  const entries: Entry[] = [];
  reads.forEach((read, index) => {
    if (inside.has(index)) return;
    const joined = read.calls.map((call) => {
      const at = call.id ? byId.get(call.id) : undefined;
      if (at === undefined || at <= index) return { call, result: null, elsewhere: null };
      const adjacent = reads.slice(index + 1, at).every((between) => between.kind === "tool");
      if (!adjacent) return { call, result: null, elsewhere: reads[at]?.n ?? null };
      inside.add(at);
      return { call, result: reads[at] ?? null, elsewhere: null };
    });
    entries.push({ read, joined });
  });
  return entries;
}

export interface Subscore {
  name: string;
  value: number | null;
  weight: number | null;
  info: string | null;
  children: Subscore[];
}

export interface Grade {
  score: number | null;
  isError: boolean;
  content: string | null;
  subscores: Subscore[];
  info: string | null;
}

/** The grade frame for people; null when it is no object. */
export function gradeOf(text: string | null): Grade | null {
  if (!text) return null;
  let frame: unknown;
  try {
    frame = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObj(frame)) return null;
  return { score: num(frame["score"]), isError: frame["isError"] === true, content: str(frame["content"]), subscores: subscoresOf(frame["subscores"]), info: isObj(frame["info"]) && Object.keys(frame["info"]).length ? JSON.stringify(frame["info"]) : null };
}

function subscoresOf(value: unknown): Subscore[] {
  return list(value)
    .filter(isObj)
    .map((item) => ({ name: str(item["name"]) ?? "part", value: num(item["value"]) ?? num(item["score"]), weight: num(item["weight"]), info: isObj(item["info"]) ? JSON.stringify(item["info"]) : null, children: subscoresOf(item["children"]) }));
}
