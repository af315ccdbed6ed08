/** From a file to an upload body, as text: rows are checked to be JSON but never re-written, so digits and key order arrive as they stood. */
import { member } from "../ui/jsonText";

export interface Rows {
  body: string;
  count: number;
}

export class BadFile extends Error {}

const startsWith = (text: string, mark: string) => text.trimStart().startsWith(mark);

/** A JSON list of rows, an export with `tasks`, or one row a line. */
export function rowsOf(text: string): Rows {
  if (!text.trim()) throw new BadFile("The file is empty.");
  if (startsWith(text, "[")) return whole(text);
  const tasks = isJson(text) ? member(text, "tasks") : null;
  if (tasks !== null) return whole(tasks);
  return lines(text);
}

function whole(list: string): Rows {
  let parsed: unknown;
  try {
    parsed = JSON.parse(list);
  } catch (reason) {
    throw new BadFile(`Not JSON: ${reason instanceof Error ? reason.message : "unreadable"}`);
  }
  if (!Array.isArray(parsed)) throw new BadFile("`tasks` must be a list of rows.");
  return { body: `{"tasks":${list}}`, count: parsed.length };
}

function lines(text: string): Rows {
  const rows: string[] = [];
  text.split("\n").forEach((line, index) => {
    if (!line.trim()) return;
    if (!isJson(line) || !startsWith(line, "{")) throw new BadFile(`Line ${index + 1} is not a JSON object.`);
    rows.push(line.trim());
  });
  return { body: `{"tasks":[${rows.join(",")}]}`, count: rows.length };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
