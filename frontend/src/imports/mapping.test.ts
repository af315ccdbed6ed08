import { describe, expect, it } from "vitest";
import type { Mapping } from "../api/types";
import { faultsOf, isGuessed, mappingOf, planOf, refit, usedColumns, withUse } from "./mapping";

const MAPPING: Mapping = {
  whole_rows: false,
  env: { column: null, constant: "zoo" },
  task_id: { column: "kind", constant: null },
  slug: { column: "id", constant: null },
  args: { question: { column: "q", kind: "text" }, id: { column: "id", kind: "text" } },
  args_column: "more",
  columns: { level: { column: "level", kind: "json" } },
  columns_column: null,
  fields: { verifier: "check" },
  options: { delimiter: ";", encoding: null, keep_empty: true },
};
const COLUMNS = ["id", "kind", "q", "more", "level", "check", "notes"];

describe("a mapping as a person edits it", () => {
  it("goes to the page and back without loss, also where a column is used twice", () => {
    const plan = planOf(MAPPING, COLUMNS);
    expect(mappingOf(plan)).toEqual(MAPPING);
    expect(plan.uses.filter((use) => use.column === "id").map((use) => use.target)).toEqual(["slug", "arg"]);
    expect(usedColumns(plan)).toBe(6);
  });

  it("keeps a slug that is made from the arguments, and one for all rows", () => {
    expect(mappingOf(planOf({ ...MAPPING, slug: null }, COLUMNS)).slug).toBeNull();
    expect(mappingOf(planOf({ ...MAPPING, slug: { column: null, constant: "s-{n}" } }, COLUMNS)).slug).toEqual({ column: null, constant: "s-{n}" });
  });

  it("lets only one column be the slug", () => {
    const plan = planOf(MAPPING, COLUMNS);
    const next = withUse(plan, plan.uses.findIndex((use) => use.column === "notes"), { target: "slug" });
    expect(mappingOf(next).slug).toEqual({ column: "notes", constant: null });
    expect(next.uses.filter((use) => use.target === "slug")).toHaveLength(1);
  });

  it("says what is missing and what stands twice", () => {
    const bare = planOf({ ...MAPPING, env: { column: null, constant: null }, args: {}, columns: {} }, COLUMNS);
    expect(faultsOf(bare)).toEqual(["Say which environment the tasks run in."]);
    const plan = planOf(MAPPING, COLUMNS);
    const twice = withUse(plan, plan.uses.findIndex((use) => use.column === "notes"), { target: "arg", name: "question" });
    expect(faultsOf(twice)[0]).toContain("“question”");
    expect(faultsOf(withUse(plan, plan.uses.findIndex((use) => use.column === "q"), { name: "" }))).toEqual(["Each argument needs a name."]);
    expect(faultsOf({ ...bare, wholeRows: true })).toEqual([]);
  });

  it("takes the new guess, with the constants given, when another reading cuts other columns", () => {
    const guess: Mapping = { ...MAPPING, env: { column: null, constant: null }, args: { x: { column: "x", kind: "text" } }, args_column: null, slug: null, task_id: { column: null, constant: "run" }, columns: {}, fields: {} };
    expect(refit(MAPPING, COLUMNS, guess)).toBe(MAPPING);
    const fresh = refit(MAPPING, ["x"], guess);
    expect([fresh.args, fresh.env, fresh.options]).toEqual([guess.args, MAPPING.env, MAPPING.options]);
  });

  it("tells a guess from what a person chose", () => {
    const guess = planOf(MAPPING, COLUMNS);
    const at = guess.uses.findIndex((use) => use.column === "level");
    const changed = withUse(guess, at, { kind: "text" });
    expect(guess.uses.every((use) => isGuessed(use, guess))).toBe(true);
    expect(changed.uses.filter((use) => !isGuessed(use, guess)).map((use) => use.column)).toEqual(["level"]);
  });
});
