/** What a row of tasks shows in a column, read from its JSON text once and never through a number: digits stay as they came. */
import type { TaskRow } from "../../api/types";
import { spans } from "../../ui/jsonSpans";
import { promptOf } from "../prompt";

export interface Cell {
  text: string;
  isNumber: boolean;
}

interface Parsed {
  prompt: string;
  columns: ReadonlyMap<string, Cell>;
}

const parsed = new WeakMap<TaskRow, Parsed>();

function read(row: TaskRow): Parsed {
  const known = parsed.get(row);
  if (known) return known;
  const made = { prompt: promptOf(row.args_preview), columns: cellsOf(row.columns) };
  parsed.set(row, made);
  return made;
}

export const promptIn = (row: TaskRow) => read(row).prompt;
export const cellIn = (row: TaskRow, name: string) => read(row).columns.get(name);
export const columnNames = (row: TaskRow) => [...read(row).columns.keys()];

/** The members of a columns text; null is no value. */
export function cellsOf(text: string | null): Map<string, Cell> {
  const found = new Map<string, Cell>();
  if (!text) return found;
  for (const { key, value } of membersOf(text)) {
    const raw = text.slice(value.start, value.end);
    if (raw !== "null") found.set(key, value.kind === "string" ? { text: JSON.parse(raw) as string, isNumber: false } : { text: raw, isNumber: value.kind === "number" });
  }
  return found;
}

function membersOf(text: string) {
  try {
    return spans(text).members;
  } catch {
    return [];
  }
}

/** Up to three columns whose values are short in all these rows: what a table shows before anybody has chosen. */
export function shortColumns(rows: readonly TaskRow[]): string[] {
  const longest = new Map<string, number>();
  for (const row of rows.slice(0, 50)) for (const name of columnNames(row)) longest.set(name, Math.max(longest.get(name) ?? 0, cellIn(row, name)?.text.length ?? 0));
  return [...longest].filter(([, length]) => length <= 24).map(([name]) => name).slice(0, 3);
}
