import { describe, expect, it } from "vitest";
import { columnWindow, HIGHEST, pieces, rowWindow, scrollTopOf, spacerHeight } from "./window";

const plain = { count: 100_000, rowHeight: 32, height: 640, overscan: 10 };

describe("the part of a table in view", () => {
  it("is the rows between two edges and some beyond", () => {
    expect(rowWindow({ ...plain, top: 0 })).toMatchObject({ first: 0, last: 30, before: 0 });
    expect(rowWindow({ ...plain, top: 32_000 })).toMatchObject({ first: 990, last: 1030, before: 990 * 32 });
    expect(rowWindow({ ...plain, top: 1e9 }).last).toBe(99_999);
    expect(rowWindow({ ...plain, count: 0, top: 0 })).toMatchObject({ first: 0, last: -1, before: 0 });
    expect(rowWindow({ ...plain, count: 3, top: 0 })).toMatchObject({ first: 0, last: 2 });
  });

  it("covers every row to the very last, also where the bar is in proportion", () => {
    for (const count of [100_000, 1_000_000, 5_000_000]) {
      const rows = { count, rowHeight: 40, height: 600 };
      const total = spacerHeight(count, 40);
      expect(total).toBeLessThanOrEqual(HIGHEST);
      for (const top of [0, total / 3, total - 600]) {
        const seen = rowWindow({ ...rows, top, overscan: 5 });
        expect(seen.before + (seen.last - seen.first + 1) * 40 + seen.after).toBeCloseTo(total, 3);
        expect(seen.before).toBeLessThanOrEqual(top);
        expect(seen.before + (seen.last - seen.first + 1) * 40).toBeGreaterThanOrEqual(Math.min(top + 600, total) - 40);
      }
      expect(rowWindow({ ...rows, top: total - 600, overscan: 5 }).last).toBe(count - 1);
    }
  });

  it("moves only when a row is out of view, and then shows it", () => {
    expect(scrollTopOf(5, { ...plain, top: 0 })).toBe(0);
    expect(scrollTopOf(20, { ...plain, top: 0 })).toBe(32);
    expect(scrollTopOf(3, { ...plain, top: 320 })).toBe(96);
    for (const index of [0, 123_456, 999_999]) {
      const rows = { count: 1_000_000, rowHeight: 40, height: 600 };
      const top = scrollTopOf(index, { ...rows, top: 5_000_000 });
      const seen = rowWindow({ ...rows, top, overscan: 0 });
      expect(seen.first).toBeLessThanOrEqual(index);
      expect(seen.last).toBeGreaterThanOrEqual(index);
    }
  });

  it("is the columns between two edges and one beyond", () => {
    const columns = Array.from({ length: 100 }, () => ({ width: 100 }));
    expect(columnWindow(columns, 0, 1000)).toEqual({ first: 0, last: 10 });
    expect(columnWindow(columns, 5050, 1000)).toEqual({ first: 49, last: 61 });
    expect(columnWindow(columns, 9000, 1000).last).toBe(99);
  });

  it("has one cell for all the columns that are out of view on a side, and the fixed ones always", () => {
    const columns = Array.from({ length: 100 }, (_, index) => ({ width: 100, fixed: index === 0 }));
    expect(pieces(columns, 50, 51)).toEqual([
      { column: columns[0], index: 0, left: 0 },
      { index: 1, span: 49, width: 4900 },
      { column: columns[50], index: 50, left: 5000 },
      { column: columns[51], index: 51, left: 5100 },
      { index: 52, span: 48, width: 4800 },
    ]);
  });
});
