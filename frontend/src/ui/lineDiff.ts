/** Two texts beside each other: which lines are the same, changed, added or removed, and which words of a changed line. Pure. */

/** Most edits between two middles that are still looked into; beyond it they count as wholly different. */
const MOST_EDITS = 400;

/** Index pairs of a longest common subsequence, rising on both sides (Myers 1986, greedy). */
export function common<T>(a: readonly T[], b: readonly T[]): [number, number][] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const middle = matches(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const head = Array.from({ length: start }, (_, at): [number, number] => [at, at]);
  const tail = Array.from({ length: end }, (_, at): [number, number] => [a.length - end + at, b.length - end + at]);
  return [...head, ...middle.map(([left, right]): [number, number] => [left + start, right + start]), ...tail];
}

function matches<T>(a: readonly T[], b: readonly T[]): [number, number][] {
  if (!a.length || !b.length) return [];
  const trace: Map<number, number>[] = [];
  let reach = new Map<number, number>([[1, 0]]);
  for (let edits = 0; edits <= Math.min(a.length + b.length, MOST_EDITS); edits += 1) {
    trace.push(reach);
    const next = new Map(reach);
    for (let k = -edits; k <= edits; k += 2) {
      let x = goesDown(reach, k, edits) ? (reach.get(k + 1) ?? 0) : (reach.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      next.set(k, x);
      if (x >= a.length && x - k >= b.length) return backwards(trace, a.length, b.length);
    }
    reach = next;
  }
  return [];
}

const goesDown = (reach: Map<number, number>, k: number, edits: number) => k === -edits || (k !== edits && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));

function backwards(trace: Map<number, number>[], x: number, y: number): [number, number][] {
  const found: [number, number][] = [];
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const reach = trace[edits] as Map<number, number>;
    const k = x - y;
    const from = goesDown(reach, k, edits) ? k + 1 : k - 1;
    const fromX = reach.get(from) ?? 0;
    const fromY = fromX - from;
    while (x > fromX && y > fromY) found.push([(x -= 1), (y -= 1)]);
    [x, y] = [fromX, fromY];
  }
  return found.reverse();
}

export interface DiffLine {
  kind: "same" | "changed" | "added" | "removed";
  left: number | null;
  right: number | null;
}

/** A comma that came or went at the end of a line is no change: it belongs to the neighbour. */
const bare = (line: string) => line.replace(/,$/, "");
/** What a changed line is known by: its key. Items of lists have none and pair in their order. */
const keyOf = (line: string) => /^\s*"(?:[^"\\]|\\.)*":/.exec(line)?.[0] ?? "";

/** The rows of a side-by-side view of two lists of lines; changed lines stand beside each other by their key. */
export function lineDiff(left: readonly string[], right: readonly string[]): DiffLine[] {
  const rows: DiffLine[] = [];
  let [x, y] = [0, 0];
  for (const [a, b] of [...common(left.map(bare), right.map(bare)), [left.length, right.length] as [number, number]]) {
    rows.push(...paired(left, right, [x, a], [y, b]));
    if (a < left.length) rows.push({ kind: "same", left: a, right: b });
    [x, y] = [a + 1, b + 1];
  }
  return rows;
}

function paired(left: readonly string[], right: readonly string[], [x, xEnd]: [number, number], [y, yEnd]: [number, number]): DiffLine[] {
  const rows: DiffLine[] = [];
  const [first, second] = [x, y];
  for (const [a, b] of [...common(left.slice(x, xEnd).map(keyOf), right.slice(y, yEnd).map(keyOf)), [xEnd - x, yEnd - y] as [number, number]]) {
    for (; x < first + a; x += 1) rows.push({ kind: "removed", left: x, right: null });
    for (; y < second + b; y += 1) rows.push({ kind: "added", left: null, right: y });
    if (x < xEnd && y < yEnd) rows.push({ kind: "changed", left: x++, right: y++ });
  }
  return rows;
}

/** Unchanged stretches of a view, further than `around` rows from a change, as one fold. */
export type Folded = { line: DiffLine } | { hidden: number; at: number };

export function folded(rows: readonly DiffLine[], around = 3): Folded[] {
  const near = new Set<number>();
  rows.forEach((row, at) => {
    if (row.kind !== "same") for (let by = -around; by <= around; by += 1) near.add(at + by);
  });
  const found: Folded[] = [];
  rows.forEach((line, at) => {
    const last = found.at(-1);
    if (near.has(at)) found.push({ line });
    else if (last && "hidden" in last) last.hidden += 1;
    else found.push({ hidden: 1, at });
  });
  return found.map((one) => ("hidden" in one && one.hidden === 1 ? { line: rows[one.at] as DiffLine } : one));
}

/** Characters from–to, `to` exclusive. */
export type Range = readonly [number, number];

const WORDS = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;

/** The ranges of words that differ, on both sides; whole where nothing is alike. */
export function wordMarks(before: string, after: string): { before: Range[]; after: Range[] } {
  const [left, right] = [before.match(WORDS) ?? [], after.match(WORDS) ?? []];
  const pairs = common(left, right);
  return { before: marked(left, new Set(pairs.map(([at]) => at))), after: marked(right, new Set(pairs.map(([, at]) => at))) };
}

function marked(words: readonly string[], same: ReadonlySet<number>): Range[] {
  const found: [number, number][] = [];
  let at = 0;
  words.forEach((word, index) => {
    const last = found.at(-1);
    const joins = last && last[1] === at;
    const bridge = /^\s+$/.test(word) && joins && !same.has(index + 1) && index + 1 < words.length;
    if (!same.has(index) || bridge) {
      if (joins) last[1] = at + word.length;
      else found.push([at, at + word.length]);
    }
    at += word.length;
  });
  return found;
}

/** A text cut at its marks. */
export function cutAtMarks(text: string, marks: readonly Range[], offset = 0): { text: string; marked: boolean }[] {
  const parts: { text: string; marked: boolean }[] = [];
  let at = 0;
  for (const [from, to] of marks) {
    const [start, end] = [Math.max(0, from - offset), Math.min(text.length, to - offset)];
    if (end <= at || start >= text.length) continue;
    if (start > at) parts.push({ text: text.slice(at, start), marked: false });
    parts.push({ text: text.slice(Math.max(at, start), end), marked: true });
    at = end;
  }
  if (at < text.length) parts.push({ text: text.slice(at), marked: false });
  return parts;
}
