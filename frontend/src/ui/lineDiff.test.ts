import { describe, expect, it } from "vitest";
import { common, cutAtMarks, folded, lineDiff, wordMarks } from "./lineDiff";

const rows = (before: string, after: string) =>
  lineDiff(before.split("\n"), after.split("\n")).map((row) => `${row.kind} ${row.left ?? "-"} ${row.right ?? "-"}`);

describe("lines beside each other", () => {
  it("finds a longest common part", () => {
    expect(common([..."abcabba"], [..."cbabac"])).toHaveLength(4);
    expect(common([..."abc"], [..."abc"])).toEqual([[0, 0], [1, 1], [2, 2]]);
    expect(common([], [1])).toEqual([]);
  });

  it("gives pairs that are equal and rise on both sides, whatever the texts", () => {
    let seed = 7;
    const draw = (most: number) => (seed = (seed * 1103515245 + 12345) % 2147483648) % most;
    for (let round = 0; round < 200; round += 1) {
      const [a, b] = [Array.from({ length: draw(12) }, () => draw(3)), Array.from({ length: draw(12) }, () => draw(3))];
      const pairs = common(a, b);
      expect(pairs.every(([x, y]) => a[x] === b[y])).toBe(true);
      expect(pairs.every(([x, y], at) => at === 0 || (x > (pairs[at - 1]?.[0] ?? -1) && y > (pairs[at - 1]?.[1] ?? -1)))).toBe(true);
      expect(pairs.length).toBe(longest(a, b));
    }
  });

  it("sets a changed line beside its old one by its key", () => {
    expect(rows('{\n"question": "x",\n"answer": "6"\n}', '{\n"new": 1,\n"question": "y",\n"answer": 6\n}')).toEqual([
      "same 0 0", "added - 1", "changed 1 2", "changed 2 3", "same 3 4",
    ]);
  });

  it("does not call a line changed for its comma", () => {
    expect(rows('"a": 1', '"a": 1,\n"b": 2')).toEqual(["same 0 0", "added - 1"]);
  });

  it("folds what is far from a change and keeps three lines around it", () => {
    const before = Array.from({ length: 20 }, (_, at) => `line ${at}`);
    const after = before.with(10, "other");
    const shown = folded(lineDiff(before, after));
    expect(shown.map((one) => ("hidden" in one ? -one.hidden : one.line.left))).toEqual([-7, 7, 8, 9, 10, 11, 12, 13, -6]);
  });

  it("marks the words that differ and joins neighbours over a space", () => {
    const marks = wordMarks("the next 2 miles", "the next two long miles");
    expect(marks.before.map(([from, to]) => "the next 2 miles".slice(from, to))).toEqual(["2"]);
    expect(marks.after.map(([from, to]) => "the next two long miles".slice(from, to))).toEqual(["two long"]);
  });

  it("cuts a piece of a line at the marks that fall into it", () => {
    expect(cutAtMarks("next two", [[9, 12]], 4)).toEqual([{ text: "next ", marked: false }, { text: "two", marked: true }]);
  });
});

function longest(a: number[], b: number[]): number {
  const best = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let x = 1; x <= a.length; x += 1) for (let y = 1; y <= b.length; y += 1) (best[x] as number[])[y] = a[x - 1] === b[y - 1] ? (best[x - 1]?.[y - 1] ?? 0) + 1 : Math.max(best[x - 1]?.[y] ?? 0, best[x]?.[y - 1] ?? 0);
  return best[a.length]?.[b.length] ?? 0;
}
