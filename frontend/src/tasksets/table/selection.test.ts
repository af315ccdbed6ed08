import { describe, expect, it } from "vitest";
import { readLayout, moved } from "./layout";
import type { Question } from "./question";
import { NO_FILTER } from "./question";
import type { Selection } from "./selection";
import { bulkTarget, choose, isChosen, NOTHING, sizeOf } from "./selection";

const QUESTION: Question = { q: "ducks", filters: new Map([["columns.ops", { ...NO_FILTER, includes: ["1"] }]]), sorts: [] };
const ALL: Selection = { kind: "all", question: QUESTION, query: "q=ducks", count: 1319 };

describe("a selection of tasks", () => {
  it("gathers names over pages and filters", () => {
    const some = choose(choose(NOTHING, ["a", "b"], true), ["c"], true);
    expect([sizeOf(some), isChosen(some, "a", "anything"), sizeOf(choose(some, ["a", "x"], false))]).toEqual([3, true, 2]);
    expect(bulkTarget(some)).toEqual({ slugs: ["a", "b", "c"] });
  });

  it("of all that match is told by the question, and ends when one is chosen by name", () => {
    expect([sizeOf(ALL), isChosen(ALL, "a", "q=ducks"), isChosen(ALL, "a", "q=geese")]).toEqual([1319, true, false]);
    expect(bulkTarget(ALL)).toEqual({ q: "ducks", filter: { ops: ["1"] } });
    expect(choose(ALL, ["a"], true)).toEqual({ kind: "some", slugs: new Set(["a"]) });
  });
});

describe("a kept layout", () => {
  it("is taken as far as it can be read", () => {
    expect(readLayout({ columns: ["prompt", 3], widths: { slug: 200, x: "wide", y: -1 } })).toEqual({ columns: ["prompt"], widths: { slug: 200 } });
    expect([readLayout(null), readLayout("x"), readLayout([])]).toEqual([{}, {}, {}]);
  });

  it("has its columns moved by one place", () => {
    expect(moved(["a", "b", "c"], "b", 1)).toEqual(["a", "c", "b"]);
    expect(moved(["a", "b", "c"], "a", -1)).toEqual(["a", "b", "c"]);
    expect(moved(["a"], "x", 1)).toEqual(["a"]);
  });
});
