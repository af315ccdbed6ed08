/** A mapping as a person edits it: for each column of the file what it becomes, and the texts that all rows get. Pure; turns into the
 * wire's mapping and back without loss. */
import type { CellSource, FileOptions, Mapping } from "../api/types";

export const FIELDS = ["validation", "agent_config", "runtime_config", "verifier"] as const;
type Field = (typeof FIELDS)[number];
export type Target = "none" | "env" | "task_id" | "slug" | "arg" | "args" | "column" | "columns" | Field;
export type ValueKind = CellSource["kind"];

/** One use of one column. `name` is the argument's or the column's, `kind` whether the cell is text or JSON. */
export interface Use {
  column: string;
  target: Target;
  name: string;
  kind: ValueKind;
}

/** `constants`: for all rows, where no column gives it; a slug of null is made from id and arguments. */
export interface Plan {
  wholeRows: boolean;
  uses: Use[];
  constants: { env: string; task_id: string; slug: string | null };
  options: FileOptions;
}

export const TARGETS: readonly (readonly [Target, string])[] = [
  ["none", "left out"],
  ["slug", "slug"],
  ["env", "environment"],
  ["task_id", "template id"],
  ["arg", "argument"],
  ["args", "all arguments (JSON)"],
  ["column", "column"],
  ["columns", "all columns (JSON)"],
  ["validation", "validation (JSON)"],
  ["agent_config", "agent config (JSON)"],
  ["runtime_config", "runtime config (JSON)"],
  ["verifier", "verifier (JSON)"],
];

export const takesName = (target: Target) => target === "arg" || target === "column";
/** At most one column can be it. */
export const isSingle = (target: Target) => !takesName(target) && target !== "none";

export function planOf(mapping: Mapping, columns: string[]): Plan {
  const given = usesOf(mapping);
  const uses = columns.flatMap((column) => {
    const mine = given.filter((use) => use.column === column);
    return mine.length ? mine : [unused(column)];
  });
  const constants = { env: mapping.env.constant ?? "", task_id: mapping.task_id.constant ?? "", slug: mapping.slug?.constant ?? null };
  return { wholeRows: mapping.whole_rows, uses, constants, options: mapping.options };
}

export const unused = (column: string): Use => ({ column, target: "none", name: column, kind: "text" });

function usesOf(mapping: Mapping): Use[] {
  const single = (target: Target, column: string | null | undefined, kind: ValueKind = "text"): Use[] => (column === null || column === undefined ? [] : [{ column, target, name: column, kind }]);
  const named = (target: Target, cells: Record<string, CellSource>) => Object.entries(cells).map(([name, cell]): Use => ({ column: cell.column, target, name, kind: cell.kind }));
  return [
    ...single("slug", mapping.slug?.column),
    ...single("env", mapping.env.column),
    ...single("task_id", mapping.task_id.column),
    ...single("args", mapping.args_column, "json"),
    ...named("arg", mapping.args),
    ...single("columns", mapping.columns_column, "json"),
    ...named("column", mapping.columns),
    ...FIELDS.flatMap((field) => single(field, mapping.fields[field], "json")),
  ];
}

export function mappingOf(plan: Plan): Mapping {
  const first = (target: Target) => plan.uses.find((use) => use.target === target)?.column ?? null;
  const source = (target: "env" | "task_id", constant: string) => {
    const column = first(target);
    return column === null ? { column, constant: constant || null } : { column, constant: null };
  };
  const slug = first("slug");
  return {
    whole_rows: plan.wholeRows,
    env: source("env", plan.constants.env),
    task_id: source("task_id", plan.constants.task_id),
    slug: slug !== null ? { column: slug, constant: null } : plan.constants.slug ? { column: null, constant: plan.constants.slug } : null,
    args: cells(plan.uses, "arg"),
    args_column: first("args"),
    columns: cells(plan.uses, "column"),
    columns_column: first("columns"),
    fields: Object.fromEntries(FIELDS.flatMap((field) => (first(field) === null ? [] : [[field, first(field)]]))) as Mapping["fields"],
    options: plan.options,
  };
}

const cells = (uses: Use[], target: Target): Record<string, CellSource> =>
  Object.fromEntries(uses.filter((use) => use.target === target).map((use) => [use.name, { column: use.column, kind: use.kind }]));

/** With one use changed; another column that was the same single thing is left out instead. */
export function withUse(plan: Plan, index: number, change: Partial<Use>): Plan {
  const target = change.target;
  const uses = plan.uses.map((use, at) => {
    if (at === index) return { ...use, ...change };
    return target && isSingle(target) && use.target === target ? { ...use, target: "none" as const } : use;
  });
  return { ...plan, uses };
}

/** What can't go on so: two uses of one name, or one without a name. */
export function faultsOf(plan: Plan): string[] {
  if (plan.wholeRows) return [];
  const faults: string[] = [];
  for (const [target, word] of [["arg", "argument"], ["column", "column"]] as const) {
    const names = plan.uses.filter((use) => use.target === target).map((use) => use.name);
    if (names.some((name) => name === "")) faults.push(`Each ${word} needs a name.`);
    const twice = names.find((name, at) => name !== "" && names.indexOf(name) !== at);
    if (twice !== undefined) faults.push(`Two columns become the ${word} “${twice}”; give one another name.`);
  }
  if (!plan.constants.env && !plan.uses.some((use) => use.target === "env")) faults.push("Say which environment the tasks run in.");
  if (!plan.constants.task_id && !plan.uses.some((use) => use.target === "task_id")) faults.push("Say which template id the tasks have.");
  return faults;
}

/** The mapping for a file read in another way: itself while the file has its columns, else the new guess with the constants that were given. */
export function refit(mapping: Mapping, columns: string[], guess: Mapping): Mapping {
  if (mapping.whole_rows) return mapping;
  const used = usesOf(mapping).map((use) => use.column);
  if (used.length && used.every((column) => columns.includes(column))) return mapping;
  const kept = (name: "env" | "task_id") => (guess[name].column === null && mapping[name].constant ? { column: null, constant: mapping[name].constant } : guess[name]);
  return { ...guess, env: kept("env"), task_id: kept("task_id"), options: mapping.options };
}

const same = (a: Use, b: Use) => a.column === b.column && a.target === b.target && (a.target === "none" || (a.kind === b.kind && (!takesName(a.target) || a.name === b.name)));
/** Whether a use stands so in the guess. */
export const isGuessed = (use: Use, guess: Plan) => guess.uses.some((one) => same(one, use));
export const usedColumns = (plan: Plan) => new Set(plan.uses.filter((use) => use.target !== "none").map((use) => use.column)).size;
