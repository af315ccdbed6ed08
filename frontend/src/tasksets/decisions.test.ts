import { describe, expect, it } from "vitest";
import type { DraftOut } from "../api/types";
import { again } from "./changes";
import { openConflicts, UNDECIDED } from "./decisions";

const conflict = (slug: string) => ({ slug, base: null, mine: "{}", theirs: "{}" });
const draft = { conflicts: [conflict("a"), conflict("b")], conflict_count: 150 } as DraftOut;

describe("a draft", () => {
  it("counts the conflicts that nobody decided, those beyond the listed ones too", () => {
    expect(openConflicts(draft, UNDECIDED)).toBe(150);
    expect(openConflicts(draft, { resolve: { a: "mine", gone: "theirs" }, others: null })).toBe(149);
    expect(openConflicts(draft, { resolve: {}, others: "theirs" })).toBe(0);
  });

  it("makes a forgotten change again with its text and place", () => {
    expect(again({ slug: "a", op: "set", text: '{"n":1.0}', position: 3 })).toEqual({ op: "set", slug: "a", text: '{"n":1.0}', position: 3 });
  });
});
