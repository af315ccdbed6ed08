/** Two states of one task: its changed fields, or its whole text side by side or unified; rows are virtual, words that differ marked. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, useState } from "react";
import type { ReactNode } from "react";
import type { FieldChange } from "../api/types";
import { plural } from "../ui/formats";
import type { Token } from "../ui/jsonText";
import { useKeys } from "../ui/keys";
import type { DiffLine, Folded, Range } from "../ui/lineDiff";
import { cutAtMarks, wordMarks } from "../ui/lineDiff";
import { hunks, LONGEST, marksOf, piecesOf, shownRows, sidesOf, unifiedRows } from "./taskDiff";
import type { Sides } from "./taskDiff";

export const VIEWS = [
  ["fields", "Fields"],
  ["split", "Side by side"],
  ["unified", "Unified"],
] as const;
export type View = (typeof VIEWS)[number][0];

/** A phone has no room for two sides. */
export const usualView = (): View => (window.innerWidth > 760 ? "split" : "unified");

interface Props {
  /** Task texts; null where the task is not there. */
  before: string | null;
  after: string | null;
  /** Of the server, where it compared them. */
  fields: FieldChange[] | null;
  names: readonly [string, string];
  view: View;
  /** Show unchanged lines too. */
  whole: boolean;
  onWhole: () => void;
}

export function TaskDiff({ before, after, fields, names, view, whole, onWhole }: Props) {
  const tooLong = (before?.length ?? 0) + (after?.length ?? 0) > LONGEST;
  if (fields && (view === "fields" || tooLong)) return <Fields fields={fields} tooLong={tooLong} />;
  if (tooLong) return <p className="p-4 text-text-2">Over 2 MB: too long to be shown beside each other. Open the task to look at it.</p>;
  return <Lines before={before} after={after} names={names} unified={view === "unified"} whole={whole} onWhole={onWhole} />;
}

function Fields({ fields, tooLong }: { fields: FieldChange[]; tooLong: boolean }) {
  return (
    <div className="scroll min-h-0 grow" tabIndex={0} role="region" aria-label="Changed fields">
      {tooLong && <p className="px-4 pt-3 text-text-2">Over 2 MB: only the changed fields are shown, each cut at 2 kB.</p>}
      <ul className="grid gap-3 p-4">
        {fields.map((field) => (
          <li key={field.path} className="card overflow-hidden">
            <header>
              <code>{field.path}</code>
              <span className="text-12 text-text-2">{[field.kind === "changed" ? "" : field.kind, field.note].filter(Boolean).join(", ")}</span>
            </header>
            <FieldValues field={field} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function FieldValues({ field: { before, after } }: { field: FieldChange }) {
  const marks = useMemo(() => (before === null || after === null ? { before: [], after: [] } : wordMarks(before, after)), [before, after]);
  return (
    <>
      {before !== null && <Value sign="−" side="del" text={before} marks={marks.before} />}
      {after !== null && <Value sign="+" side="add" text={after} marks={marks.after} />}
    </>
  );
}

function Value({ sign, side, text, marks }: { sign: string; side: "add" | "del"; text: string; marks: Range[] }) {
  return (
    <p className={`diff-value ${side}`}>
      <span className="sg">{sign}</span>
      <code>{cutAtMarks(text, marks).map((part, at) => (part.marked ? <mark key={at}>{part.text}</mark> : part.text))}</code>
    </p>
  );
}

interface LinesProps {
  before: string | null;
  after: string | null;
  names: readonly [string, string];
  unified: boolean;
  whole: boolean;
  onWhole: () => void;
}

function Lines({ before, after, names, unified, whole, onWhole }: LinesProps) {
  const box = useRef<HTMLDivElement>(null);
  const sides = useMemo(() => sidesOf(before, after), [before, after]);
  const rows = useMemo(() => {
    const shown = shownRows(sides, whole || before === null || after === null);
    return unified ? unifiedRows(shown) : shown;
  }, [sides, whole, unified, before, after]);
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => box.current, estimateSize: () => 20, overscan: 20 });
  const [at, setAt] = useState(-1);
  const starts = useMemo(() => hunks(rows), [rows]);
  const jump = (to: number | undefined) => {
    if (to === undefined) return;
    setAt(to);
    virtual.scrollToIndex(to, { align: "center" });
  };
  useKeys("Differences", [
    { keys: "n", what: "Next difference in the task", run: () => jump(starts.find((one) => one > at)) },
    { keys: "N", what: "Difference before", run: () => jump(starts.findLast((one) => one < at)) },
  ]);
  const items = virtual.getVirtualItems();
  const Row = unified ? UnifiedRow : SplitRow;
  const columns = unified ? 4 : 6;
  return (
    <div ref={box} className="scroll diff min-h-0 grow" tabIndex={0} role="region" aria-label={unified ? "Unified" : "Side by side"}>
      <table>
        <caption className="sr-only">{`${names[0]} against ${names[1]}`}</caption>
        <colgroup>{(unified ? [44, 44, 18, undefined] : [44, 18, undefined, 44, 18, undefined]).map((width, index) => <col key={index} style={{ width }} />)}</colgroup>
        {!unified && (
          <thead>
            <tr>
              {names.map((name) => (
                <th key={name} colSpan={3} scope="colgroup">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          <Gap height={items[0]?.start ?? 0} columns={columns} />
          {items.map((item) => (
            <tr key={item.key} data-index={item.index} ref={virtual.measureElement} className={classOf(rows[item.index])} aria-current={item.index === at || undefined}>
              <Row row={rows[item.index] as Folded} sides={sides} fold={onWhole} />
            </tr>
          ))}
          <Gap height={virtual.getTotalSize() - (items.at(-1)?.end ?? 0)} columns={columns} />
        </tbody>
      </table>
    </div>
  );
}

const classOf = (row: Folded | undefined) => (row && "line" in row ? row.line.kind : "fold");
const Gap = ({ height, columns }: { height: number; columns: number }) =>
  height > 0 ? <tr aria-hidden="true"><td colSpan={columns} style={{ height, padding: 0 }} /></tr> : null;

interface RowProps {
  row: Folded;
  sides: Sides;
  fold: () => void;
}

function SplitRow({ row, sides, fold }: RowProps) {
  if ("hidden" in row) return <Fold hidden={row.hidden} columns={6} onShow={fold} />;
  const { left, right, kind } = row.line;
  const marks = marksOf(sides, row.line);
  return (
    <>
      <Side at={left} lines={sides.left} sign={kind === "same" ? "" : "−"} marks={marks.left} />
      <Side at={right} lines={sides.right} sign={kind === "same" ? "" : "+"} marks={marks.right} />
    </>
  );
}

function Side({ at, lines, sign, marks }: { at: number | null; lines: Sides["left"]; sign: string; marks: readonly Range[] }) {
  if (at === null) return <td colSpan={3} className="gone" />;
  return (
    <>
      <td className="ln">{at + 1}</td>
      <td className="sg">{sign}</td>
      <Code line={lines[at]} marks={marks} />
    </>
  );
}

function UnifiedRow({ row, sides, fold }: RowProps) {
  if ("hidden" in row) return <Fold hidden={row.hidden} columns={4} onShow={fold} />;
  const { left, right, kind } = row.line;
  const pair = partner(sides, row.line);
  const marks = pair ? marksOf(sides, pair) : { left: [], right: [] };
  const sign = kind === "removed" ? "−" : kind === "added" ? "+" : "";
  return (
    <>
      <td className="ln">{left === null ? "" : left + 1}</td>
      <td className="ln">{right === null ? "" : right + 1}</td>
      <td className="sg">{sign}</td>
      <Code line={right === null ? sides.left[left ?? 0] : sides.right[right]} marks={right === null ? marks.left : marks.right} />
    </>
  );
}

/** The changed line that a half of it, shown alone, belongs to. */
const partner = (sides: Sides, half: DiffLine) =>
  half.kind === "same" ? undefined : sides.rows.find((one) => one.kind === "changed" && (half.left === null ? one.right === half.right : one.left === half.left));

function Fold({ hidden, columns, onShow }: { hidden: number; columns: number; onShow: () => void }) {
  return (
    <td colSpan={columns} className="fold">
      <button type="button" onClick={onShow}>
        Show {plural(hidden, "unchanged line")}
      </button>
    </td>
  );
}

const CLASS: Partial<Record<Token["kind"], string>> = { key: "k", string: "sv", number: "nv", word: "nv" };

function Code({ line, marks }: { line: Sides["left"][number] | undefined; marks: readonly Range[] }): ReactNode {
  return (
    <td className="cd">
      {(line ? piecesOf(line, marks) : []).map((piece, index) =>
        piece.marked ? <mark key={index}>{piece.text}</mark> : <span key={index} className={CLASS[piece.kind]}>{piece.text}</span>,
      )}
    </td>
  );
}
