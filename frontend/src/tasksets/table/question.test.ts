import { describe, expect, it } from "vitest";
import type { Question } from "./question";
import { bulkFilter, inWords, NO_FILTER, pairs, readQuestion, sortedBy, toggled, withFilter, writeQuestion } from "./question";

const EMPTY: Question = { q: "", filters: new Map(), sorts: [] };
const read = (text: string) => readQuestion(new URLSearchParams(text));

describe("what a table is asked", () => {
  it("stands in the address and is read from it again, whatever texts it holds", () => {
    for (const choice of ["a", "a,b", "!a", ">=3", "\\", "\\-", "-", "", null, "<", "é, ü"]) {
      for (const side of ["includes", "excludes"] as const) {
        const asked = withFilter({ q: "x y", filters: new Map(), sorts: [{ column: "columns.a,b", descending: true }, { column: "slug", descending: false }] }, "columns.ops", { ...NO_FILTER, [side]: [choice, "other"] });
        expect(readQuestion(writeQuestion(new URLSearchParams("v=3"), asked))).toEqual(asked);
      }
    }
  });

  it("keeps what else is in the address, and drops a filter without choices", () => {
    expect(writeQuestion(new URLSearchParams("v=3&q=old&f.x=1"), EMPTY).toString()).toBe("v=3");
    expect(read("f.=1&sort=").filters.size).toBe(0);
  });

  it("names the task's own fields and columns apart", () => {
    expect([...read("f.env=a&f.columns.env=b&f.ops=1").filters.keys()]).toEqual(["env", "columns.env", "columns.ops"]);
    expect(pairs(read("f.columns.env=b&f.columns.ops=1"))).toEqual([["f.columns.env", "b"], ["f.ops", "1"]]);
  });

  it("reads bounds as numbers and writes them back", () => {
    const asked = read("f.score=>=0.5,<=2");
    expect(asked.filters.get("columns.score")).toEqual({ ...NO_FILTER, least: 0.5, most: 2 });
    expect(pairs(asked)).toEqual([["f.score", ">=0.5,<=2"]]);
  });

  it("sorts up, down, off; with shift behind the others", () => {
    const up = sortedBy(EMPTY, "slug", false);
    const down = sortedBy(up, "slug", false);
    expect([up.sorts, down.sorts, sortedBy(down, "slug", false).sorts]).toEqual([[{ column: "slug", descending: false }], [{ column: "slug", descending: true }], []]);
    expect(sortedBy(up, "env", true).sorts.map((sort) => sort.column)).toEqual(["slug", "env"]);
    expect(sortedBy(up, "env", false).sorts.map((sort) => sort.column)).toEqual(["env"]);
    expect(sortedBy(sortedBy(down, "env", true), "slug", true).sorts).toEqual([{ column: "env", descending: false }]);
  });

  it("turns a choice on and off, and never wants and refuses the same", () => {
    const one = toggled(NO_FILTER, "a", "includes");
    expect(toggled(one, "a", "excludes")).toEqual({ ...NO_FILTER, excludes: ["a"] });
    expect(toggled(one, "a", "includes")).toEqual(NO_FILTER);
  });

  it("reads in words, and as a bulk edit takes it", () => {
    const asked = read("f.ops=1,2&f.level=!hard,\\-&f.score=>=1");
    expect([...asked.filters].map(([column, filter]) => inWords(column, filter))).toEqual(["ops: 1 or 2", "level: no value, not hard", "score: from 1"]);
    expect(bulkFilter(asked)).toEqual({ ops: ["1", "2"], level: ["\\-", "!hard"], score: [">=1"] });
  });
});
