import { describe, expect, it } from "vitest";
import type { DiffRow } from "../api/types";
import { countsInWords, rowInWords } from "./changes";
import { hunks, marksOf, piecesOf, shownRows, sidesOf, unifiedRows } from "./taskDiff";
import { laidOut, textOfRow } from "./taskText";

const row = (more: Partial<DiffRow>): DiffRow => ({ slug: "a", kind: "changed", moved: false, from_position: 8, to_position: 7, fields: [], fields_total: 0, ...more });
const field = (path: string) => ({ path, kind: "changed" as const, before: "1", after: "2", note: null });

describe("changes in words", () => {
  it("counts what is there and says when nothing is", () => {
    expect(countsInWords({ added: 2, removed: 0, changed: 1, moved: 0, unchanged: 9 })).toBe("2 added, 1 changed");
    expect(countsInWords({ added: 0, removed: 0, changed: 0, moved: 0, unchanged: 9 })).toBe("nothing changes");
  });

  it("names the fields of a changed task, and both places of a moved one", () => {
    expect(rowInWords(row({ fields: [field("args.question"), field("columns.ops")], moved: true }))).toBe("question, columns.ops, moved");
    expect(rowInWords(row({ kind: "moved", moved: true }))).toBe("moved from 9 to 8");
    expect(rowInWords(row({ kind: "added" }))).toBe("added");
  });
});

describe("two texts of a task", () => {
  const sides = sidesOf('{"env":"e","args":{"q":"take 2 steps","n":1.0}}', '{"env":"e","args":{"q":"take two steps","n":1.0,"t":0.10}}');
  const kinds = shownRows(sides, true).map((one) => ("line" in one ? one.line.kind : "fold"));

  it("are laid out, aligned, and keep their digits", () => {
    expect(kinds).toEqual(["same", "same", "same", "changed", "same", "added", "same", "same"]);
    expect(sides.right[5]?.text.trim()).toBe('"t": 0.10');
  });

  it("mark the words that differ inside the coloured tokens", () => {
    const changed = sides.rows[3];
    const marked = changed && piecesOf(sides.left[3] ?? { tokens: [], text: "" }, marksOf(sides, changed).left).filter((piece) => piece.marked);
    expect(marked).toEqual([{ kind: "string", text: "2", marked: true }]);
  });

  it("unified shows the old line before the new one, and hunks where changes begin", () => {
    const rows = unifiedRows(shownRows(sides, true));
    expect(rows.map((one) => ("line" in one ? one.line.kind : "fold")).slice(3, 5)).toEqual(["removed", "added"]);
    expect(hunks(rows)).toEqual([3, 6]);
  });
});

describe("the text of a task", () => {
  it("is made from an exported row without touching its values", () => {
    const text = textOfRow('{"name":"a","env":"e","scenario":"ask","args":{"n":1.0, "big":12345678901234567890},"validation":null,"columns":{"e":1e5}}');
    expect(text).toBe('{"env":"e","id":"ask","args":{"n":1.0, "big":12345678901234567890},"columns":{"e":1e5}}');
    expect(laidOut(text)).toContain('"big": 12345678901234567890');
  });
});
