/** One task as one JSON text, in the order it is stored: what is compared, and what the editor edits. Values stay as sent. */
import type { TaskOut } from "../api/types";
import { find, spans } from "../ui/jsonSpans";
import { layOut } from "../ui/jsonText";

/** The fields that hold JSON, in stored order. */
export const JSON_FIELDS = ["args", "validation", "agent_config", "columns", "runtime_config", "verifier"] as const;

const made = (fields: [string, string | null][]) =>
  `{${fields.filter(([, value]) => value !== null && value !== "null").map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(",")}}`;

export const textOfTask = (task: TaskOut) => made([["env", JSON.stringify(task.env)], ["id", JSON.stringify(task.task_id)], ...JSON_FIELDS.map((field): [string, string | null] => [field, task[field]])]);

/** From a row as exported, or as a draft holds it. */
export function textOfRow(row: string): string {
  const root = spans(row);
  const value = (key: string) => {
    const found = find(root, [key]);
    return found && row.slice(found.start, found.end);
  };
  return made([["env", value("env")], ["id", value("scenario") ?? value("id") ?? value("task_id")], ...JSON_FIELDS.map((field): [string, string | null] => [field, value(field)])]);
}

/** In lines, two spaces a level. */
export const laidOut = (text: string) => layOut(text).map((line) => line.map((token) => token.text).join("")).join("\n");
