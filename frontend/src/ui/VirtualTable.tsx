/** A plain table whose rows are virtual: only what is in view is in the DOM, the header stays, more rows load near the end.
 * On phones rows become cards; cells marked `on-phone` are the ones that stay. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useImperativeHandle, useRef } from "react";
import type { ReactNode, Ref } from "react";

export interface Column<Row> {
  name: ReactNode;
  width?: number | string;
  className?: string;
  cell: (row: Row, index: number) => ReactNode;
}

export interface TableHandle {
  scrollTo: (index: number) => void;
  element: HTMLElement | null;
}

interface Props<Row> {
  label: string;
  rows: Row[];
  columns: Column<Row>[];
  keyOf: (row: Row, index: number) => string;
  total?: number | null;
  selected?: (row: Row) => boolean;
  more?: (() => void) | undefined;
  loadingMore?: boolean;
  minWidth?: number;
  empty?: ReactNode;
  ref?: Ref<TableHandle>;
  onRange?: (first: number, last: number) => void;
  rowHeight?: number;
}

export function VirtualTable<Row>(props: Props<Row>) {
  const { label, rows, columns, keyOf, total, selected, more, loadingMore, minWidth, empty, ref, onRange, rowHeight } = props;
  const box = useRef<HTMLDivElement>(null);
  const height = rowHeight ?? Number.parseInt(getComputedStyle(document.documentElement).getPropertyValue("--row"), 10);
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => box.current, estimateSize: () => height, overscan: 10, getItemKey: (index) => keyOf(rows[index] as Row, index) });
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;

  useImperativeHandle(ref, () => ({ scrollTo: (index) => virtual.scrollToIndex(index, { align: "auto" }), element: box.current }), [virtual]);
  useEffect(() => {
    if (more && !loadingMore && last >= rows.length - 20) more();
  }, [more, loadingMore, last, rows.length]);
  const seen = virtual.range;
  useEffect(() => {
    if (seen) onRange?.(seen.startIndex, seen.endIndex);
  }, [onRange, seen?.startIndex, seen?.endIndex]); // eslint-disable-line react-hooks/exhaustive-deps

  const above = items[0]?.start ?? 0;
  const below = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    <div ref={box} className="scroll min-h-0 grow bg-surface" tabIndex={0} role="region" aria-label={label}>
      <table className="table cards" style={{ minWidth: minWidth && window.innerWidth > 760 ? minWidth : undefined }} aria-rowcount={total ?? rows.length}>
        <caption className="sr-only">{label}</caption>
        <colgroup>
          {columns.map((column, index) => (
            <col key={index} style={column.width === undefined ? undefined : { width: column.width }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th key={index} scope="col" className={column.className}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Gap height={above} columns={columns.length} />
          {items.map((item) => {
            const row = rows[item.index] as Row;
            return (
              <tr key={item.key} data-index={item.index} ref={virtual.measureElement} aria-rowindex={item.index + 2} aria-selected={selected ? selected(row) : undefined}>
                {columns.map((column, index) => (
                  <td key={index} className={column.className}>
                    {column.cell(row, item.index)}
                  </td>
                ))}
              </tr>
            );
          })}
          <Gap height={below} columns={columns.length} />
        </tbody>
      </table>
      {rows.length === 0 && empty}
      {first >= 0 && loadingMore && <p className="px-6 py-2 text-12 text-text-3">Loading more</p>}
    </div>
  );
}

function Gap({ height, columns }: { height: number; columns: number }) {
  if (height <= 0) return null;
  return (
    <tr className="gap" aria-hidden="true">
      <td colSpan={columns} style={{ height }} />
    </tr>
  );
}
