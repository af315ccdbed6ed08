/** The tasks of one version as a table of any length: search, filters, order and columns; what is chosen survives all of them.
 * Everything but the choice stands in the address. */
import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { draftQuery } from "../api/queries";
import type { TaskRow, TasksetOut } from "../api/types";
import type { GridColumn, GridHandle } from "../ui/GridTable";
import { GridTable } from "../ui/GridTable";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { useMedia } from "../ui/useMedia";
import { IN_PLACE } from "../ui/useAddress";
import { taskPath } from "./paths";
import { Chips } from "./table/Chips";
import { firstColumns, gridColumns, knownColumns } from "./table/columns";
import { FacetPanel } from "./table/FacetPanel";
import { facetsQuery } from "./table/Facets";
import type { Cursor } from "./table/keys";
import { useTableKeys } from "./table/keys";
import { useLayout } from "./table/layout";
import { marksOf } from "./table/marks";
import { Peek } from "./table/Peek";
import type { Ask, Question } from "./table/question";
import { isNarrowed, pairs, readQuestion, sortedBy, writeQuestion } from "./table/question";
import { choose, isChosen, NOTHING, sizeOf } from "./table/selection";
import type { Selection } from "./table/selection";
import { Toolbar } from "./table/Toolbar";
import { useBlocks } from "./table/useBlocks";

const CARD = 64;

interface Props {
  set: TasksetOut;
  pinned: boolean;
  onUpload: () => void;
}

export function TaskTable({ set, pinned, onUpload }: Props) {
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const reference = set.head ? `${set.id}@${set.head.number}` : set.id;
  const version = pinned ? set.head?.number : undefined;
  const question = useMemo(() => readQuestion(params), [params]);
  const query = useMemo(() => new URLSearchParams(pairs(question)).toString(), [question]);
  const ask = useAsking(question, setParams);
  const blocks = useBlocks(reference, query);
  const facets = useQuery({ ...facetsQuery(reference, question), enabled: blocks.total !== null }).data;
  const draft = useQuery({ ...draftQuery(set.id), enabled: !pinned }).data;
  const marks = useMemo(() => marksOf(draft), [draft]);
  const { layout, change: changeLayout } = useLayout(set.id);
  const [selection, select] = useState<Selection>(NOTHING);
  const [panel, setPanel] = useState<boolean | null>(null);
  const [peeking, setPeeking] = useState(false);
  const [sorting, setSorting] = useState(false);
  const [cursor, setCursor] = useState<Cursor>({ current: null, anchor: null });
  const grid = useRef<GridHandle>(null);
  const isWide = useMedia("(min-width: 1181px)");
  const isPhone = useMedia("(max-width: 760px)");
  const showsPanel = panel ?? isWide;
  const total = blocks.total ?? set.head?.task_count ?? 0;

  const shownBefore = useRef(blocks.shown);
  useEffect(() => {
    if (shownBefore.current === blocks.shown) return;
    shownBefore.current = blocks.shown;
    grid.current?.show(0, false);
    setCursor({ current: null, anchor: null });
  }, [blocks.shown]);
  const firstRows = useMemo(() => (blocks.total === null ? [] : blocks.loaded()), [blocks.total]); // eslint-disable-line react-hooks/exhaustive-deps -- the first answer says enough
  const known = useMemo(() => knownColumns(facets, firstRows), [facets, firstRows]);
  const standard = useMemo(() => firstColumns(set, firstRows), [set, firstRows]);
  const shown = layout.columns ?? standard;
  const columns = useMemo(
    () => gridColumns({ set, version, shown, known, rows: firstRows, facets, layout, marks }),
    [set, version, shown, known, firstRows, facets, layout, marks],
  );
  const chosen = useCallback((row: TaskRow) => isChosen(selection, row.slug, query), [selection, query]);
  const loaded = blocks.loaded();
  const allLoaded = loaded.length > 0 && loaded.every(chosen);
  const chooseLoaded = (on = true) => select((before) => choose(before, blocks.loaded().map((row) => row.slug), on));
  const withBox = useMemo(
    () => [boxColumn(chosen, (slugs, on) => select((before) => choose(before, slugs, on)), allLoaded, () => chooseLoaded(!allLoaded)), ...columns],
    [columns, chosen, allLoaded], // eslint-disable-line react-hooks/exhaustive-deps -- what is loaded is asked for at the click
  );
  const slugsBetween = (from: number, to: number) =>
    Array.from({ length: Math.abs(to - from) + 1 }, (_, offset) => blocks.rowAt(Math.min(from, to) + offset)?.slug).filter((slug) => slug !== undefined);
  const current = cursor.current !== null && cursor.current < total ? cursor.current : null;
  const currentRow = current === null ? undefined : blocks.rowAt(current);

  const start = (on: Selection) => {
    const asked = new URLSearchParams({ taskset: set.head ? `${set.name}@${set.head.number}` : set.name });
    if (on.kind === "all") for (const [key, value] of pairs({ ...on.question, sorts: [] })) asked.append(key, value);
    const slugs = on.kind === "some" ? [...on.slugs] : [];
    if (slugs.length <= 50) slugs.forEach((slug) => asked.append("slug", slug));
    void navigate(`/jobs/new?${asked.toString()}`, slugs.length > 50 ? { state: { slugs } } : {});
  };
  const showFilters = () => {
    setPanel(!showsPanel);
    if (!showsPanel) requestAnimationFrame(() => document.querySelector<HTMLElement>(".facets input, .facets summary")?.focus());
  };
  useTableKeys(
    {
      cursor: { ...cursor, current },
      setCursor,
      grid,
      count: total,
      choose: (from, to, toggle) => {
        const slugs = slugsBetween(from, to);
        select((before) => choose(before, slugs, !(toggle && slugs.every((slug) => isChosen(before, slug, query)))));
      },
      open: (index) => {
        const row = blocks.rowAt(index);
        if (row) window.open(taskPath(set, row.slug, version), "_blank", "noopener");
      },
      peek: () => setPeeking((before) => !before),
      chooseLoaded,
      filters: showFilters,
      sorts: () => setSorting(true),
    },
    [
      ...(sizeOf(selection) ? [{ keys: "n", what: "New job on the chosen tasks", run: () => start(selection) }] : []),
      ...(peeking ? [{ keys: "Escape", what: "Close the peek", run: () => setPeeking(false) }] : []),
    ],
  );
  const sortOf = useCallback(
    (column: string) => {
      const place = question.sorts.findIndex((sort) => sort.column === column);
      return place < 0 ? undefined : { descending: question.sorts[place]?.descending ?? false, place: question.sorts.length > 1 ? place + 1 : 0 };
    },
    [question],
  );

  return (
    <>
      <Toolbar
        set={set}
        pinned={pinned}
        question={question}
        query={query}
        onAsk={ask}
        total={blocks.total}
        stale={blocks.isStale}
        selection={selection}
        onSelect={select}
        loaded={blocks.loaded}
        marks={marks}
        known={known}
        shown={shown.filter((id) => known.some((column) => column.id === id))}
        onShown={(next) => changeLayout(next ? { ...layout, columns: next } : {})}
        sorting={sorting}
        onSorting={setSorting}
        showsPanel={showsPanel}
        onPanel={() => setPanel(!showsPanel)}
        onStart={start}
      />
      <Chips question={question} onChange={ask} />
      {blocks.error && blocks.total !== null && <Failed what="Could not load these tasks" error={blocks.error} retry={blocks.retry} />}
      <div className="table-and-sides">
        {showsPanel && set.head && <FacetPanel asDrawer={!isWide} reference={reference} question={question} onChange={ask} onClose={() => setPanel(false)} />}
        {blocks.error && blocks.total === null ? (
          <Failed what="Could not load the tasks" error={blocks.error} retry={blocks.retry} />
        ) : blocks.loading ? (
          <div className="min-w-0 grow"><Skeleton /></div>
        ) : (
          <GridTable
            ref={grid}
            label="Tasks"
            count={total}
            rowAt={blocks.rowAt}
            columns={withBox}
            rowHeight={isPhone ? CARD : rowHeight()}
            current={current}
            isSelected={chosen}
            markOf={(row) => marks.get(row.slug)?.sign}
            sortOf={sortOf}
            onSort={(column, alsoOthers) => ask((before) => sortedBy(before, column, alsoOthers))}
            onResize={(column, width, done) => changeLayout({ ...layout, widths: { ...layout.widths, [column]: width } }, done)}
            onRange={blocks.see}
            onCurrent={(index) => setCursor({ current: index, anchor: null })}
            busy={blocks.isStale}
            empty={<Nothing set={set} question={question} onAsk={ask} onUpload={onUpload} />}
          />
        )}
        {peeking && currentRow && <Peek set={set} reference={reference} slug={currentRow.slug} version={version} onClose={() => setPeeking(false)} />}
      </div>
    </>
  );
}

const rowHeight = () => Number.parseInt(getComputedStyle(document.documentElement).getPropertyValue("--row"), 10);

const boxColumn = (chosen: (row: TaskRow) => boolean, onChoose: (slugs: string[], on: boolean) => void, all: boolean, onAll: () => void): GridColumn<TaskRow> => ({
  id: "box",
  name: "Chosen",
  header: <input type="checkbox" aria-label="Choose the loaded tasks" checked={all} onChange={onAll} />,
  width: 54,
  className: "box",
  fixed: true,
  cell: (row: TaskRow) => <input type="checkbox" aria-label={`Choose ${row.slug}`} checked={chosen(row)} onChange={(event) => onChoose([row.slug], event.target.checked)} />,
});

/** Changes the question in the address. Two changes before the page has drawn the first are both kept. */
function useAsking(question: Question, setParams: ReturnType<typeof useSearchParams>[1]): Ask {
  const latest = useRef(question);
  useEffect(() => {
    latest.current = question;
  }, [question]);
  return useCallback(
    (change) => {
      const next = change(latest.current);
      latest.current = next;
      setParams((before) => writeQuestion(before, next), IN_PLACE);
    },
    [setParams],
  );
}

function Nothing({ set, question, onAsk, onUpload }: { set: TasksetOut; question: Question; onAsk: Ask; onUpload: () => void }) {
  if (isNarrowed(question)) {
    const clear = () => onAsk((before) => ({ ...before, q: "", filters: new Map() }));
    return <Empty title={question.q && !question.filters.size ? `No task has “${question.q}” in its slug or content` : "No task matches these filters"} action={<button type="button" className="btn" onClick={clear}>Clear filters</button>} />;
  }
  return (
    <Empty title="No tasks yet" action={<button type="button" className="btn" onClick={onUpload}>Upload tasks</button>} command={`hud sync tasks ${set.name} tasks.py`}>
      Upload CSV, JSON, JSONL, Parquet or a zip of task folders, or sync from your code.
    </Empty>
  );
}
