/** The lists of an insight, and how their rows read. Pure. */
import type { AnalysisOut } from "../api/types";
import { count, plural } from "../ui/formats";
import type { Found } from "./queries";

export const LISTS = [
  ["checks", "Checks"],
  ["exact", "Exact duplicates"],
  ["near", "Near duplicates"],
  ["leaks", "Leaks"],
] as const;
export type ListName = (typeof LISTS)[number][0];

/** The list that the address names, else the first that holds something. */
export const listOf = (given: string | null, counts: AnalysisOut["counts"]): ListName =>
  LISTS.find(([name]) => name === given)?.[0] ?? LISTS.find(([name]) => counts[name] > 0)?.[0] ?? "checks";

/** The task that a row is about; of duplicates the later one, which one would take out. */
export const slugOf = (row: Found): string => (row.list === "exact" || row.list === "near" ? row.other : row.slug);

/** One row of one list, in the address too. */
export const keyOf = (row: Found): string =>
  row.list === "checks" ? `${row.slug} ${row.path} ${row.rule}` : row.list === "leaks" ? `${row.slug} ${row.answer_path} ${row.prompt_path}` : `${row.slug} ${row.other}`;

export function rowInWords(row: Found): string {
  if (row.list === "checks") return `${row.path} ${row.rule}`;
  if (row.list === "leaks") return `${row.match.trim()} in ${row.prompt_path}`;
  return row.list === "exact" ? `repeats ${row.slug}` : `${share(row.jaccard)} like ${row.slug}`;
}

/** `0.917`: three decimals, cut and not rounded up to 1. */
export const share = (jaccard: number): string => (jaccard === 1 ? "1" : (Math.floor(jaccard * 1000) / 1000).toFixed(3));

/** What an empty list says. */
export function emptyWords(list: ListName, { counts, settings }: AnalysisOut): { title: string; about: string } {
  if (list === "checks") return checksWords(counts, settings.schema_policy);
  if (list === "exact") return { title: "No task repeats another", about: `All ${plural(counts.tasks, "task")} differ in more than their slug.` };
  if (list === "near") return { title: "No prompts nearly repeat each other", about: `${plural(counts.prompts, "task")} with a prompt were compared by their ${settings.shingle_words}-word shingles.` };
  return { title: "No answer stands in its prompt", about: `Answers were looked for in ${settings.answer_fields.join(", ")}.` };
}

function checksWords(counts: AnalysisOut["counts"], policy: string) {
  if (policy === "off") return { title: "Checks are off", about: "Turn them on in the settings of this analysis to hold tasks against their environment's manifest." };
  if (counts.tasks_unknown === counts.tasks) return { title: "No environment is known yet", about: "Register the environments that these tasks run in; their templates are then checked by themselves." };
  return { title: "Every task fits", about: `${plural(counts.tasks - counts.tasks_unknown, "task")} fit the template and the schema of their environment.` };
}

/** Beside a list that holds less than was found. */
export const cutWords = (list: ListName, counts: AnalysisOut["counts"]): string | null => {
  const kind = ({ checks: "check", exact: "exact", near: "near", leaks: "leak" } as const)[list];
  if (!counts.cut.includes(kind)) return null;
  return list === "near" ? "Many prompts are alike: each was compared with its nearest few" : `The first 100,000 of ${count(counts[list])}`;
};
