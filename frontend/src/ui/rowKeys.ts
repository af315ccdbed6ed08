/** Keys of a virtual table. The focus is the cursor: `j k` or arrows take it from row link to row link, so Enter opens and readers
 * read as anywhere; a row's actions take the row that the focus stands in. */
import type { RefObject } from "react";
import type { KeyBinding } from "./keys";
import { PART, useKeys } from "./keys";
import type { TableHandle } from "./VirtualTable";

export interface RowKey<Row> {
  keys: string;
  what: string;
  run: (row: Row, index: number) => void;
}

export function useRowKeys<Row>(title: string, table: RefObject<TableHandle | null>, rows: readonly Row[], actions: readonly RowKey<Row>[]) {
  const go = (by: number) => {
    const at = here(table.current);
    focusRow(table.current, Math.min(rows.length - 1, Math.max(0, at === null ? 0 : at + by)));
  };
  const moves: KeyBinding[] = [
    { keys: "j", what: "Next row", run: () => go(1) },
    { keys: "k", what: "Row before", run: () => go(-1) },
    { keys: "ArrowDown", what: "Next row", run: () => go(1) },
    { keys: "ArrowUp", what: "Row before", run: () => go(-1) },
    { keys: "Home", what: "First row", run: () => go(-rows.length) },
    { keys: "End", what: "Last loaded row", run: () => go(rows.length) },
  ];
  const onRow = ({ keys, what, run }: RowKey<Row>): KeyBinding => ({
    keys,
    what,
    run: () => {
      const at = here(table.current);
      const row = at === null ? undefined : rows[at];
      if (at !== null && row !== undefined) run(row, at);
    },
  });
  useKeys(title, rows.length ? [...moves, ...actions.map(onRow)] : [], PART);
}

/** The index of the row that holds the focus; null when it is elsewhere. */
function here(table: TableHandle | null): number | null {
  const row = document.activeElement?.closest<HTMLElement>("[data-index]");
  return row && table?.element?.contains(row) ? Number(row.dataset["index"]) : null;
}

/** A row out of view is drawn first: then its link takes the focus in the next frame. */
function focusRow(table: TableHandle | null, index: number) {
  table?.scrollTo(index);
  const link = () => table?.element?.querySelector<HTMLElement>(`[data-index="${index}"] .stretch`);
  const there = link();
  if (there) there.focus({ preventScroll: true });
  else requestAnimationFrame(() => link()?.focus({ preventScroll: true }));
}
