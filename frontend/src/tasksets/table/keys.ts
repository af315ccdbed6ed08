/** The keyboard of the table: where the current row is, and what the keys do with it. */
import { useEffect, useRef } from "react";
import type { RefObject } from "react";
import type { GridHandle } from "../../ui/GridTable";
import type { KeyBinding } from "../../ui/keys";
import { PART, useKeys } from "../../ui/keys";

export interface Cursor {
  current: number | null;
  /** Where a range began. */
  anchor: number | null;
}

interface Table {
  cursor: Cursor;
  setCursor: (cursor: Cursor) => void;
  grid: RefObject<GridHandle | null>;
  count: number;
  /** Chooses the rows between two places; with `toggle` takes them out when all are chosen. */
  choose: (from: number, to: number, toggle: boolean) => void;
  open: (index: number) => void;
  peek: () => void;
  chooseLoaded: () => void;
  filters: () => void;
  sorts: () => void;
}

export function useTableKeys(table: Table, more: KeyBinding[]) {
  const { cursor, grid, count } = table;
  const { current, anchor } = cursor;
  const latest = useRef<Cursor>({ current, anchor });
  useEffect(() => {
    latest.current = { current, anchor };
  }, [current, anchor]);
  /** Keys may come faster than the page draws: each goes on from where the one before has led. */
  const setCursor = (next: Cursor) => {
    latest.current = next;
    table.setCursor(next);
  };
  const within = (index: number) => Math.max(0, Math.min(count - 1, index));
  const go = (to: number) => {
    if (count === 0) return;
    setCursor({ current: within(to), anchor: null });
    grid.current?.show(within(to));
  };
  const range = (by: number) => {
    const { current: at, anchor: start } = latest.current;
    if (at === null) return go(0);
    const from = start ?? at;
    const to = at + by;
    table.choose(from, within(to), false);
    setCursor({ current: within(to), anchor: from });
    grid.current?.show(within(to));
  };
  const step = (by: number, event: KeyboardEvent) => (event.shiftKey ? range(by) : go(latest.current.current === null ? 0 : latest.current.current + by));
  const page = (by: number) => go((latest.current.current ?? 0) + by * (grid.current?.rowsInView() ?? 1));
  const toggle = () => {
    const at = latest.current.current;
    if (at === null) return;
    table.choose(at, at, true);
    setCursor({ current: at, anchor: at });
  };
  useKeys(
    "Tasks",
    [
      { keys: "j", what: "Next task", run: (event) => step(1, event) },
      { keys: "k", what: "Task before", run: (event) => step(-1, event) },
      { keys: "ArrowDown", what: "Next task; with Shift chooses on the way", run: (event) => step(1, event) },
      { keys: "ArrowUp", what: "Task before; with Shift chooses on the way", run: (event) => step(-1, event) },
      { keys: "PageDown", what: "A page on", run: () => page(1) },
      { keys: "PageUp", what: "A page back", run: () => page(-1) },
      { keys: "Home", what: "First task", run: () => go(0) },
      { keys: "End", what: "Last task", run: () => go(count - 1) },
      { keys: "o", what: "Open in a new tab", run: () => current !== null && table.open(current) },
      { keys: "p", what: "Peek at the task beside the list", run: table.peek },
      { keys: "x", what: "Choose the task, or not", run: () => toggle() },
      { keys: "X", what: "Choose all from the last chosen to here", run: () => current !== null && table.choose(anchor ?? current, current, false) },
      { keys: "mod+a", what: "Choose all that are loaded", run: () => table.chooseLoaded() },
      { keys: "f", what: "Filters", run: table.filters },
      { keys: "s", what: "Sort by…", run: table.sorts },
      ...more,
    ],
    PART,
  );
}
