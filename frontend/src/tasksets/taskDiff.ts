/** What a view of two task texts shows: lines of tokens beside or under each other, with marks on the words that differ. Pure. */
import type { Token } from "../ui/jsonText";
import { layOut } from "../ui/jsonText";
import type { DiffLine, Folded, Range } from "../ui/lineDiff";
import { cutAtMarks, folded, lineDiff, wordMarks } from "../ui/lineDiff";

/** Longer texts are shown by their fields only. */
export const LONGEST = 2_000_000;

interface Line {
  tokens: Token[];
  text: string;
}
export interface Sides {
  left: Line[];
  right: Line[];
  rows: DiffLine[];
}

const linesOf = (text: string | null): Line[] => (text === null ? [] : layOut(text).map((tokens) => ({ tokens, text: tokens.map((token) => token.text).join("") })));

export function sidesOf(before: string | null, after: string | null): Sides {
  const [left, right] = [linesOf(before), linesOf(after)];
  return { left, right, rows: lineDiff(left.map((line) => line.text), right.map((line) => line.text)) };
}

/** Everything, or changes with their surroundings. */
export const shownRows = (sides: Sides, whole: boolean): Folded[] => (whole ? sides.rows.map((line) => ({ line })) : folded(sides.rows));

/** One under the other: a changed line is the old one, then the new one. */
export const unifiedRows = (rows: Folded[]): Folded[] =>
  rows.flatMap((row): Folded[] => {
    if ("hidden" in row || row.line.kind !== "changed") return [row];
    const { left, right } = row.line;
    return [{ line: { kind: "removed", left, right: null } }, { line: { kind: "added", left: null, right } }];
  });

/** Where runs of changes begin, as indexes of rows. */
export const hunks = (rows: Folded[]): number[] => {
  const differs = (row: Folded | undefined) => row !== undefined && "line" in row && row.line.kind !== "same";
  return rows.flatMap((row, at) => (differs(row) && !differs(rows[at - 1]) ? [at] : []));
};

/** The marks of a line, against its partner on the other side. */
export function marksOf(sides: Sides, { left, right }: DiffLine): { left: Range[]; right: Range[] } {
  const [before, after] = [left === null ? null : (sides.left[left]?.text ?? ""), right === null ? null : (sides.right[right]?.text ?? "")];
  if (before === null || after === null) return { left: [], right: [] };
  const marks = wordMarks(before.replace(/,$/, ""), after.replace(/,$/, ""));
  return { left: marks.before, right: marks.after };
}

export interface Piece {
  kind: Token["kind"];
  text: string;
  marked: boolean;
}

/** A line's tokens, cut at the marks. */
export function piecesOf(line: Line, marks: readonly Range[]): Piece[] {
  let at = 0;
  return line.tokens.flatMap((token) => {
    const parts = cutAtMarks(token.text, marks, at).map((part) => ({ kind: token.kind, ...part }));
    at += token.text.length;
    return parts;
  });
}
