/** The words a person recognises a task by: the longest text in its arguments, else the arguments themselves. Works on a cut preview too. */
import { spans } from "../ui/jsonSpans";

export function promptOf(args: string): string {
  const texts = [...args.matchAll(/:\s*"((?:[^"\\]|\\.)*)"?/g)].map((found) => found[1] ?? "");
  const longest = texts.reduce((best, text) => (text.length > best.length ? text : best), "");
  return longest.length > 12 ? unescaped(longest) : args;
}

function unescaped(text: string): string {
  return text.replace(/\\[nrt]/g, " ").replace(/\\u([0-9a-fA-F]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))).replace(/\\(["\\/])/g, "$1");
}

const ASKING = ["prompt", "question", "instruction", "instructions", "problem", "query", "input", "task", "text"];

export interface Asked {
  key: string;
  text: string;
}

/** The argument that asks, whole: one with a name that says so, else the longest text of some length. `args` is JSON text. */
export function askedIn(args: string): Asked | null {
  const texts = membersOf(args).flatMap(({ key, value }) => (value.kind === "string" ? [{ key, text: JSON.parse(args.slice(value.start, value.end)) as string }] : []));
  const named = ASKING.map((name) => texts.find(({ key }) => key.toLowerCase() === name)).find((found) => found !== undefined);
  const longest = texts.reduce<Asked | null>((best, one) => (one.text.length > (best?.text.length ?? 12) ? one : best), null);
  return named ?? longest;
}

function membersOf(text: string) {
  try {
    return spans(text).members;
  } catch {
    return [];
  }
}
