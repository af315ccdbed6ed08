/** Which rows and columns of a large table are in view. Pure. A browser draws no element higher than some 33 million pixels: past
 * HIGHEST the scroll bar covers the rows in proportion. */

export interface Window {
  first: number;
  last: number;
  /** Pixels of what is left out on this side. */
  before: number;
  after: number;
}

interface Rows {
  count: number;
  rowHeight: number;
  /** Of what is in view. */
  height: number;
  top: number;
}

export const MANY_COLUMNS = 30;
export const HIGHEST = 15_000_000;

export const spacerHeight = (count: number, rowHeight: number) => Math.min(count * rowHeight, HIGHEST);

export function rowWindow({ count, rowHeight, height, top, overscan }: Rows & { overscan: number }): Window {
  const total = spacerHeight(count, rowHeight);
  const shown = Math.ceil(height / rowHeight) + 1;
  const firstSeen = firstRow({ count, rowHeight, height, top });
  const first = Math.max(0, Math.min(firstSeen, count - shown) - overscan);
  const last = Math.min(count, firstSeen + shown + overscan) - 1;
  const drawn = (last - first + 1) * rowHeight;
  const before = isWhole({ count, rowHeight }) ? first * rowHeight : Math.max(0, Math.min(top - (firstSeen - first) * rowHeight, total - drawn));
  return { first, last, before, after: total - before - drawn };
}

/** Where to scroll for a row to be in view: nowhere when it is. */
export function scrollTopOf(index: number, rows: Rows): number {
  const { count, rowHeight, height, top } = rows;
  if (isWhole(rows)) return Math.min(index * rowHeight, Math.max(top, (index + 1) * rowHeight - height));
  const first = firstRow(rows);
  const shown = Math.floor(height / rowHeight);
  if (index >= first && index < first + shown) return top;
  const target = Math.max(0, index < first ? index : index - shown + 1);
  return (target / Math.max(1, count - shown)) * (HIGHEST - height);
}

const isWhole = ({ count, rowHeight }: Pick<Rows, "count" | "rowHeight">) => count * rowHeight <= HIGHEST;

function firstRow(rows: Rows): number {
  const { count, rowHeight, height, top } = rows;
  if (isWhole(rows)) return Math.max(0, Math.min(count - 1, Math.floor(top / rowHeight)));
  const shown = Math.floor(height / rowHeight);
  return Math.max(0, Math.min(count - shown, Math.round((top / (HIGHEST - height)) * (count - shown))));
}

/** The columns between `left` and `left + width`, with one more on each side. */
export function columnWindow(columns: readonly { width: number }[], left: number, width: number): Pick<Window, "first" | "last"> {
  let end = 0;
  const ends = columns.map((column) => (end += column.width));
  const behind = ends.findIndex((one) => one >= left + width);
  return { first: Math.max(0, ends.findIndex((one) => one > left) - 1), last: Math.min(columns.length - 1, (behind < 0 ? columns.length : behind) + 1) };
}

/** What a row draws: a column, or one cell in place of those out of view. `left` is where the column begins. */
export type Piece<Column> = { column: Column; index: number; left: number } | { index: number; span: number; width: number };

export function pieces<Column extends { width: number; fixed?: boolean }>(columns: readonly Column[], first: number, last: number): Piece<Column>[] {
  const found: Piece<Column>[] = [];
  let left = 0;
  columns.forEach((column, index) => {
    const before = found.at(-1);
    if (column.fixed || (index >= first && index <= last)) found.push({ column, index, left });
    else if (before && "span" in before) found[found.length - 1] = { ...before, span: before.span + 1, width: before.width + column.width };
    else found.push({ index, span: 1, width: column.width });
    left += column.width;
  });
  return found;
}
