/** A table of any length whose rows are reached at random: all have one height, only those in view are in the DOM, and each is drawn
 * when its data is there, as a bar until then. Past 30 columns only those in view are drawn. Headers sort and resize, by pointer and key.
 * A plain table for readers: rows say their number, the row with the keyboard has the focus on its link. */
import { memo, useCallback, useEffect, useImperativeHandle, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { KeyboardEvent, ReactNode, Ref } from "react";
import { Icon } from "./Icon";
import type { Piece } from "./window";
import { columnWindow, MANY_COLUMNS, pieces, rowWindow, scrollTopOf } from "./window";

export interface GridColumn<Row> {
  id: string;
  name: string;
  /** Instead of the name in the header. */
  header?: ReactNode;
  width: number;
  /** Takes the room that is left; `width` is the least then. */
  grows?: boolean;
  className?: string;
  sortable?: boolean;
  /** Stays at the left edge. Only for the first columns. */
  fixed?: boolean;
  cell: (row: Row, index: number) => ReactNode;
}

export interface GridHandle {
  /** Brings a row into view, and its link under the keyboard. */
  show: (index: number, focus?: boolean) => void;
  rowsInView: () => number;
}

export interface SortMark {
  descending: boolean;
  place: number;
}

interface Props<Row> {
  label: string;
  count: number;
  rowAt: (index: number) => Row | undefined;
  columns: readonly GridColumn<Row>[];
  rowHeight: number;
  current: number | null;
  isSelected: (row: Row) => boolean;
  markOf?: (row: Row) => string | undefined;
  sortOf: (column: string) => SortMark | undefined;
  onSort: (column: string, alsoOthers: boolean) => void;
  onResize: (column: string, width: number, done: boolean) => void;
  onRange: (first: number, last: number) => void;
  onCurrent: (index: number) => void;
  busy?: boolean;
  empty?: ReactNode;
  ref?: Ref<GridHandle>;
}

const OVERSCAN = 10;
const HEAD = 30;

export function GridTable<Row>(props: Props<Row>) {
  const { label, count, columns, rowHeight, current, onRange, ref } = props;
  const box = useRef<HTMLDivElement>(null);
  const focus = useRef(false);
  const [size, setSize] = useState({ height: 0, width: 0 });
  const [at, setAt] = useState({ top: 0, left: 0 });
  useLayoutEffect(() => {
    const element = box.current as HTMLDivElement;
    const measure = () => setSize({ height: Math.min(element.clientHeight, window.innerHeight), width: element.clientWidth });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  const rows = rowWindow({ count, rowHeight, height: Math.max(rowHeight, size.height - HEAD), top: at.top, overscan: OVERSCAN });
  const across = columns.length > MANY_COLUMNS ? columnWindow(columns, at.left, size.width) : { first: 0, last: columns.length - 1 };
  const parts = useMemo(() => pieces(columns, across.first, across.last), [columns, across.first, across.last]);
  useEffect(() => onRange(rows.first, rows.last), [onRange, rows.first, rows.last]);

  const show = useCallback(
    (index: number, withFocus = true) => {
      const element = box.current;
      if (!element) return;
      focus.current = withFocus;
      const top = scrollTopOf(index, { count, rowHeight, height: element.clientHeight - HEAD, top: element.scrollTop });
      if (top !== element.scrollTop) element.scrollTop = top;
      setAt({ top, left: element.scrollLeft });
    },
    [count, rowHeight],
  );
  useImperativeHandle(ref, () => ({ show, rowsInView: () => Math.max(1, Math.floor(((box.current?.clientHeight ?? 0) - HEAD) / rowHeight) - 1) }), [show, rowHeight]);
  useEffect(() => {
    if (!focus.current || current === null) return;
    const link = box.current?.querySelector<HTMLElement>(`tr[data-index="${current}"] a.stretch`);
    if (!link) return;
    focus.current = false;
    link.focus({ preventScroll: true });
  });

  const openCurrent = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.key === "Enter" && event.target === event.currentTarget && current !== null) box.current?.querySelector<HTMLElement>(`tr[data-index="${current}"] a.stretch`)?.click();
  };
  const minWidth = columns.reduce((sum, column) => sum + column.width, 0);
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Enter opens the row that j and k have chosen
    <div
      ref={box}
      className="scroll grid-table min-h-0 grow bg-surface"
      tabIndex={0}
      role="region"
      aria-label={label}
      aria-busy={props.busy || undefined}
      onKeyDown={openCurrent}
      onScroll={(event) => {
        const { scrollTop, scrollLeft } = event.currentTarget;
        setAt({ top: scrollTop, left: scrollLeft });
      }}
    >
      <table className="table cards" style={{ minWidth }} aria-rowcount={count + 1} aria-colcount={columns.length}>
        <caption className="sr-only">{label}</caption>
        <colgroup>
          {parts.map((part) => ("column" in part ? <col key={part.index} style={part.column.grows ? undefined : { width: part.column.width }} /> : <col key={part.index} span={part.span} style={{ width: part.width / part.span }} />))}
        </colgroup>
        <Head {...props} parts={parts} />
        <tbody className={props.busy ? "stale" : undefined}>
          <Gap height={rows.before} columns={columns.length} />
          {Array.from({ length: rows.last - rows.first + 1 }, (_, offset) => rows.first + offset).map((index) => {
            const row = props.rowAt(index);
            return row === undefined ? (
              <Waiting key={index} index={index} columns={columns.length} height={rowHeight} />
            ) : (
              <GridRow
                key={index}
                index={index}
                row={row}
                parts={parts}
                height={rowHeight}
                isCurrent={index === current}
                isSelected={props.isSelected(row)}
                mark={props.markOf?.(row)}
                onCurrent={props.onCurrent}
              />
            );
          })}
          <Gap height={rows.after} columns={columns.length} />
        </tbody>
      </table>
      {count === 0 && props.empty}
    </div>
  );
}

function Head<Row>({ parts, sortOf, onSort, onResize }: Props<Row> & { parts: Piece<GridColumn<Row>>[] }) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        {parts.map((part) => {
          if (!("column" in part)) return <td key={part.index} colSpan={part.span} aria-hidden="true" />;
          const { column, index, left } = part;
          const sort = sortOf(column.id);
          return (
            <th
              key={column.id}
              scope="col"
              className={classOf(column)}
              style={column.fixed ? { left } : undefined}
              aria-colindex={index + 1}
              aria-sort={column.sortable ? (sort ? (sort.descending ? "descending" : "ascending") : "none") : undefined}
            >
              {column.header ??
                (column.sortable ? (
                  <button type="button" className="sort" title="Sort; with Shift behind the other columns" onClick={(event) => onSort(column.id, event.shiftKey)}>
                    <span className="truncate">{column.name}</span>
                    {sort && <span className={sort.descending ? "turned" : ""}><Icon name="up" small /></span>}
                    {sort && sort.place > 0 && <span className="tnum">{sort.place}</span>}
                  </button>
                ) : (
                  column.name
                ))}
              {!column.header && <Resizer column={column} onResize={onResize} />}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

const classOf = (column: { className?: string; fixed?: boolean }) => `${column.className ?? ""}${column.fixed ? " stick" : ""}` || undefined;

const NARROWEST = 60;
const WIDEST = 1200;
const within = (width: number) => Math.round(Math.min(WIDEST, Math.max(NARROWEST, width)));

/** A line to drag; with the keyboard a slider of the column's width. */
function Resizer<Row>({ column, onResize }: { column: GridColumn<Row>; onResize: Props<Row>["onResize"] }) {
  const start = useRef<{ x: number; width: number } | null>(null);
  return (
    <span
      className="resize"
      role="slider"
      tabIndex={0}
      aria-label={`Width of ${column.name}`}
      aria-valuemin={NARROWEST}
      aria-valuemax={WIDEST}
      aria-valuenow={column.width}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        start.current = { x: event.clientX, width: event.currentTarget.parentElement?.offsetWidth ?? column.width };
      }}
      onPointerMove={(event) => start.current && onResize(column.id, within(start.current.width + event.clientX - start.current.x), false)}
      onPointerUp={(event) => {
        if (start.current) onResize(column.id, within(start.current.width + event.clientX - start.current.x), true);
        start.current = null;
      }}
      onKeyDown={(event) => {
        const by = { ArrowLeft: -16, ArrowRight: 16 }[event.key];
        if (by === undefined) return;
        event.preventDefault();
        onResize(column.id, within((event.currentTarget.parentElement?.offsetWidth ?? column.width) + by), true);
      }}
    />
  );
}

interface RowProps<Row> {
  index: number;
  row: Row;
  parts: Piece<GridColumn<Row>>[];
  height: number;
  isCurrent: boolean;
  isSelected: boolean;
  mark: string | undefined;
  onCurrent: (index: number) => void;
}

function PlainRow<Row>({ index, row, parts, height, isCurrent, isSelected, mark, onCurrent }: RowProps<Row>) {
  return (
    <tr data-index={index} data-mark={mark} className={isCurrent ? "current" : undefined} style={{ height }} aria-rowindex={index + 2} aria-selected={isSelected} onPointerDown={() => onCurrent(index)}>
      {parts.map((part) =>
        "column" in part ? (
          <td key={part.column.id} className={classOf(part.column)} style={part.column.fixed ? { left: part.left } : undefined} aria-colindex={part.index + 1}>
            {part.column.cell(row, index)}
          </td>
        ) : (
          <td key={part.index} colSpan={part.span} aria-hidden="true" />
        ),
      )}
    </tr>
  );
}
const GridRow = memo(PlainRow) as typeof PlainRow;

const Waiting = ({ index, columns, height }: { index: number; columns: number; height: number }) => (
  <tr data-index={index} className="waiting" style={{ height }} aria-rowindex={index + 2}>
    <td colSpan={columns}>
      <span className="sr-only">Loading</span>
      <span className="bone" style={{ width: `${[62, 78, 40, 70][index % 4]}%` }} />
    </td>
  </tr>
);

const Gap = ({ height, columns }: { height: number; columns: number }) =>
  height > 0 ? (
    <tr className="gap" aria-hidden="true">
      <td colSpan={columns} style={{ height }} />
    </tr>
  ) : null;
