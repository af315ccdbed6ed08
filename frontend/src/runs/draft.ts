/** The new-job form as a request, and where the server's problems belong in it. Pure. */
import type { JobIn } from "../api/types";

/** Who asks the model, turn by turn: our own agent, or one of HUD's. */
export const LOOPS = [
  ["openai_compatible", "Proctor: chat completions"],
  ["claude", "HUD claude: Anthropic's Messages API"],
  ["openai", "HUD openai: OpenAI's Responses API"],
  ["gemini", "HUD gemini: Google's Gemini API"],
  ["claude_cli", "HUD claude_cli: the program claude in the environment"],
  ["codex_cli", "HUD codex_cli: the program codex in the environment"],
] as const;
export type Loop = (typeof LOOPS)[number][0];

export interface Draft {
  agent: "openai_compatible" | "replay" | "noop" | "task_app";
  loop: Loop;
  mode: "eval" | "rl";
  policy: string;
  model: string;
  config: string;
  replay: "column" | "answers";
  column: string;
  answers: string;
  group: string;
  concurrent: string;
  timeout: string;
  maxSteps: string;
  name: string;
}

export interface Made {
  body: JobIn | null;
  /** What keeps the form from being a request, as a sentence. */
  error: string | null;
}

export function jobOf(draft: Draft, taskset: string, slugs?: string[]): Made {
  const config = configOf(draft);
  if (typeof config === "string") return { body: null, error: config };
  const body: JobIn = { taskset, agent: { type: draft.agent === "openai_compatible" ? draft.loop : draft.agent, config }, group: numeric(draft.group) ?? 1 };
  if (slugs) body.slugs = slugs;
  const concurrent = numeric(draft.concurrent);
  const timeout = numeric(draft.timeout);
  if (concurrent !== null) body.max_concurrent = concurrent;
  if (timeout !== null) body.rollout_timeout = timeout;
  if (draft.name.trim()) body.name = draft.name.trim();
  return { body, error: null };
}

function configOf(draft: Draft): Record<string, unknown> | string {
  if (draft.agent === "noop") return {};
  if (draft.agent === "task_app") return taskAppConfig(draft);
  if (draft.agent === "replay") return replayConfig(draft);
  const more = objectOf(draft.config, "The agent config");
  if (typeof more === "string") return more;
  if (!draft.model.trim()) return "Name a model.";
  const steps = numeric(draft.maxSteps);
  return { ...more, model: draft.model.trim(), ...(steps === null ? {} : { max_steps: steps }) };
}

function taskAppConfig(draft: Draft): Record<string, unknown> | string {
  const policy = objectOf(draft.policy, "The policy");
  if (typeof policy === "string") return policy;
  return { mode: draft.mode, ...(Object.keys(policy).length ? { policy } : {}) };
}

function replayConfig(draft: Draft): Record<string, unknown> | string {
  if (draft.replay === "column") return draft.column.trim() ? { column: draft.column.trim() } : "Name the column that holds the answers.";
  const answers = objectOf(draft.answers, "The list of answers");
  if (typeof answers === "string") return answers;
  return Object.keys(answers).length ? { answers } : "Give an answer for each slug.";
}

function objectOf(text: string, what: string): Record<string, unknown> | string {
  if (!text.trim()) return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : `${what} must be a JSON object.`;
  } catch (reason) {
    return `${what} is not JSON: ${reason instanceof Error ? reason.message : "unreadable"}`;
  }
}

const numeric = (text: string) => (text.trim() === "" || !Number.isFinite(Number(text)) ? null : Number(text));

/** The section of the form that a problem's path points into; "" is the whole. */
export function fieldOf(path: string): "taskset" | "agent" | "limits" | "" {
  const head = /^(?:body\.)?([a-z_]+)/.exec(path)?.[1] ?? "";
  if (["taskset", "slugs", "tasks", "environment", "env"].includes(head)) return "taskset";
  if (["agent", "model"].includes(head)) return "agent";
  if (["group", "max_concurrent", "rollout_timeout", "name"].includes(head)) return "limits";
  return "";
}
