/** What the table is asked, and how it stands in the page's address and in the server's: `q`, `sort`, `f.<column>`. Pure.
 * The syntax of a filter is the server's (docs/reference/api.md): commas between choices, `!` not, `>=` `<=` bounds, `\-` no value. */

/** `null`: no value. */
export type Choice = string | null;

export interface Filter {
  includes: Choice[];
  excludes: Choice[];
  least: number | null;
  most: number | null;
}

export interface Sort {
  column: string;
  descending: boolean;
}

/** Filters by full column name: `env`, `task_id`, `columns.ops`. */
export interface Question {
  q: string;
  filters: ReadonlyMap<string, Filter>;
  sorts: readonly Sort[];
}

/** Asks something else, made from what is asked now. */
export type Ask = (change: (before: Question) => Question) => void;

const OWN = new Set(["env", "task_id"]);
const PREFIX = "columns.";
export const NO_FILTER: Filter = { includes: [], excludes: [], least: null, most: null };

/** `columns.ops` → `ops`: how a person reads it, and the short name in the address. A column called `env` keeps its prefix. */
export function shortName(column: string): string {
  const short = column.startsWith(PREFIX) ? column.slice(PREFIX.length) : column;
  return column.startsWith(PREFIX) && (OWN.has(short) || short.startsWith(PREFIX)) ? column : short;
}

const fullName = (given: string) => (OWN.has(given) || given.startsWith(PREFIX) ? given : PREFIX + given);

export function readQuestion(params: URLSearchParams): Question {
  const filters = new Map<string, Filter>();
  for (const key of new Set(params.keys())) {
    if (!key.startsWith("f.") || key.length === 2) continue;
    const filter = filterOf(params.getAll(key).flatMap(split));
    if (isActive(filter)) filters.set(fullName(key.slice(2)), filter);
  }
  const sorts = split(params.get("sort") ?? "").filter(Boolean).map((part) => ({ column: unescape(part.replace(/^-/, "")), descending: part.startsWith("-") }));
  return { q: params.get("q") ?? "", filters, sorts };
}

/** The address with this question; what else is in it stays. */
export function writeQuestion(params: URLSearchParams, question: Question): URLSearchParams {
  const next = new URLSearchParams([...params].filter(([key]) => key !== "q" && key !== "sort" && !key.startsWith("f.")));
  for (const [key, value] of pairs(question)) next.append(key, value);
  return next;
}

/** Query names and values, in a fixed order, so that equal questions have equal keys. */
export function pairs({ q, filters, sorts }: Question): [string, string][] {
  const found: [string, string][] = q ? [["q", q]] : [];
  for (const [column, filter] of [...filters].toSorted(([a], [b]) => (a < b ? -1 : 1))) found.push([`f.${shortName(column)}`, tokens(filter).join(",")]);
  if (sorts.length) found.push(["sort", sorts.map((sort) => (sort.descending ? "-" : "") + sort.column.replace(/[\\,]/g, "\\$&")).join(",")]);
  return found;
}

export const isActive = (filter: Filter) => filter.includes.length + filter.excludes.length > 0 || filter.least !== null || filter.most !== null;
export const isNarrowed = (question: Question) => question.q !== "" || question.filters.size > 0;

export function withFilter(question: Question, column: string, filter: Filter): Question {
  const filters = new Map(question.filters);
  if (isActive(filter)) filters.set(column, filter);
  else filters.delete(column);
  return { ...question, filters };
}

/** One more choice, or one less; the same text is never wanted and unwanted at once. */
export function toggled(filter: Filter, choice: Choice, side: "includes" | "excludes"): Filter {
  const without = { ...filter, includes: filter.includes.filter((one) => one !== choice), excludes: filter.excludes.filter((one) => one !== choice) };
  return filter[side].includes(choice) ? without : { ...without, [side]: [...without[side], choice] };
}

/** Up, down, off; alone, or behind the others. */
export function sortedBy(question: Question, column: string, alsoOthers: boolean): Question {
  const before = question.sorts.find((sort) => sort.column === column);
  const next = before === undefined ? { column, descending: false } : before.descending ? null : { column, descending: true };
  const others = alsoOthers ? question.sorts : [];
  const kept = others.some((sort) => sort.column === column) ? others.flatMap((sort) => (sort.column === column ? (next ? [next] : []) : [sort])) : [...others, ...(next ? [next] : [])];
  return { ...question, sorts: kept };
}

/** The filters as a bulk edit takes them: a list of choices by column. */
export const bulkFilter = (question: Question) => Object.fromEntries([...question.filters].map(([column, filter]) => [shortName(column), tokens(filter)]));

/** As a chip reads: `ops: 1 or 2`, `level: not hard`, `score: 0.2 to 0.5`. */
export function inWords(column: string, filter: Filter): string {
  const range = filter.least === null ? (filter.most === null ? [] : [`up to ${filter.most}`]) : filter.most === null ? [`from ${filter.least}`] : [`${filter.least} to ${filter.most}`];
  const wanted = [...filter.includes.map(named), ...range].join(" or ");
  const unwanted = filter.excludes.length ? `not ${filter.excludes.map(named).join(", not ")}` : "";
  return `${shortName(column)}: ${[wanted, unwanted].filter(Boolean).join(", ")}`;
}

/** The search and all filters: `“ducks”, ops: 1 or 2`. */
export const questionInWords = ({ q, filters }: Question) => [...(q ? [`“${q}”`] : []), ...[...filters].map(([column, filter]) => inWords(column, filter))].join(", ");

export const named = (choice: Choice) => (choice === null ? "no value" : choice === "" ? "empty text" : choice);

function filterOf(parts: string[]): Filter {
  const found: Filter = { includes: [], excludes: [], least: null, most: null };
  for (const part of parts) {
    const bound = Number(part.slice(2));
    if (part.startsWith(">=") && Number.isFinite(bound)) found.least = bound;
    else if (part.startsWith("<=") && Number.isFinite(bound)) found.most = bound;
    else if (part.startsWith("!")) found.excludes.push(choiceOf(part.slice(1)));
    else found.includes.push(choiceOf(part));
  }
  return found;
}

const choiceOf = (token: string): Choice => (token === "\\-" ? null : unescape(token));
const tokenOf = (choice: Choice) => (choice === null ? "\\-" : choice.replace(/[\\,]/g, "\\$&").replace(/^[!<>]/, "\\$&"));

function tokens(filter: Filter): string[] {
  const bounds = [...(filter.least === null ? [] : [`>=${filter.least}`]), ...(filter.most === null ? [] : [`<=${filter.most}`])];
  return [...filter.includes.map(tokenOf), ...filter.excludes.map((choice) => `!${tokenOf(choice)}`), ...bounds];
}

/** The parts between commas, escapes still in them. */
function split(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at += text[at] === "\\" ? 2 : 1) {
    if (text[at] !== ",") continue;
    parts.push(text.slice(start, at));
    start = at + 1;
  }
  return [...parts, text.slice(start)];
}
const unescape = (token: string) => token.replace(/\\(.)/gsu, "$1");
