/** Rows are tasks, cells their repeats; each cell is a link. One tab stop: arrows move by cell, `m` and `e` to the next mixed or failed
 * task. The mini-map above shows the whole job and scrolls. Past 32 repeats cells are gauges, past 128 one stacked bar. */
import { useCallback, useMemo, useRef, useState } from "react";
import type { KeyboardEvent, MouseEvent } from "react";
import { Link, useNavigate, useSearchParams } from "react-router";
import type { RunRow } from "../api/types";
import { between, count, duration, reward } from "../ui/formats";
import { PART, useKeys } from "../ui/keys";
import { Empty } from "../ui/Notices";
import { cellClass, cellStyle, Gauge } from "../ui/Reward";
import { Search } from "../ui/Search";
import { Segments } from "../ui/Segments";
import type { Column, TableHandle } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";
import { IN_PLACE } from "../ui/useAddress";
import { MiniMap } from "./MiniMap";
import type { MatrixRow } from "./tally";
import { cellOf } from "./words";

const SHOW = [
  ["", "All"],
  ["mixed", "Mixed"],
  ["failed", "Failed"],
  ["running", "Running"],
] as const;

export function MatrixTable({ rows, group }: { rows: MatrixRow[]; group: number }) {
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const table = useRef<TableHandle>(null);
  const [range, setRange] = useState({ first: 0, last: 0 });
  const at = useRef({ row: 0, column: 0 });
  const show = params.get("show") ?? "";
  const q = params.get("q") ?? "";
  const shown = useMemo(() => filtered(rows, show, q), [rows, show, q]);
  const repeats = useMemo(() => rows.reduce((most, row) => Math.max(most, row.runs.length), group), [rows, group]);
  const columns = useMemo(() => columnsOf(repeats), [repeats]);
  const onRange = useCallback((first: number, last: number) => setRange({ first, last }), []);
  const set = (name: string, value: string) => {
    const next = new URLSearchParams(params);
    if (value) next.set(name, value);
    else next.delete(name);
    setParams(next, IN_PLACE);
  };

  const focusCell = (row: number, column: number) => {
    at.current = { row, column };
    table.current?.scrollTo(row);
    const look = (tries: number) => {
      const cell = table.current?.element?.querySelector<HTMLElement>(`[data-cell="${row}:${column}"]`);
      if (cell) cell.focus({ preventScroll: true });
      else if (tries > 0) requestAnimationFrame(() => look(tries - 1));
    };
    look(10);
  };
  const toNext = (has: (row: MatrixRow) => boolean) => {
    const start = at.current.row;
    for (let step = 1; step <= shown.length; step += 1) {
      const index = (start + step) % shown.length;
      const row = shown[index];
      if (row && has(row)) return focusCell(index, Math.max(0, row.runs.findIndex((run) => run.counted === "failed")));
    }
  };
  useKeys("Matrix", [
    { keys: "m", what: "Next mixed task", run: () => toNext((row) => row.mixed) },
    { keys: "f", what: "Next failed task", run: () => toNext((row) => row.failed) },
  ], PART);
  const onKeyDown = (event: KeyboardEvent) => {
    const place = (event.target as HTMLElement).dataset["cell"];
    if (!place) return;
    const [row = 0, column = 0] = place.split(":").map(Number);
    const last = shown.length - 1;
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      PageUp: [row - 12, column],
      PageDown: [row + 12, column],
      Home: [event.ctrlKey || event.metaKey ? 0 : row, 0],
      End: [event.ctrlKey || event.metaKey ? last : row, Infinity],
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const to = Math.min(last, Math.max(0, move[0]));
    focusCell(to, Math.min((shown[to]?.runs.length ?? 1) - 1, Math.max(0, move[1])));
  };
  /** One handler for all cells: rows stay plain. */
  const onClick = (event: MouseEvent) => {
    const cell = (event.target as HTMLElement).closest<HTMLAnchorElement>("a[data-cell]");
    if (!cell || event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    void navigate(cell.pathname);
  };

  return (
    // eslint-disable-next-line jsx-a11y/no-static-element-interactions -- cells are links; this only routes them
    <div className="flow flex min-w-0 grow flex-col" onKeyDown={onKeyDown} onClick={onClick}>
      <div className="flex flex-none flex-wrap items-center gap-3 px-6 pb-1.5 pt-2 max-md:px-4">
        <Search label="Filter tasks" value={q} onChange={(value) => set("q", value)} width={200} />
        <Segments label="Show" options={SHOW} value={show} onChange={(value) => set("show", value)} />
        <span className="grow" />
        <Legend />
      </div>
      <MiniMap rows={shown} repeats={repeats} range={range} onPick={(index) => table.current?.scrollTo(index)} />
      <VirtualTable
        ref={table}
        label="Matrix of tasks and repeats"
        rows={shown}
        columns={columns}
        keyOf={(row) => row.key}
        onRange={onRange}
        minWidth={560 + Math.min(repeats, 32) * 27}
        rowHeight={32}
        empty={
          rows.length === 0 ? (
            <Empty title="No run yet">Runs appear here as soon as the job tells of them.</Empty>
          ) : (
            <Empty title="No task matches" action={<button type="button" className="btn" onClick={() => setParams({})}>Clear filters</button>} />
          )
        }
      />
    </div>
  );
}

function filtered(rows: MatrixRow[], show: string, q: string): MatrixRow[] {
  const text = q.toLowerCase();
  return rows.filter(
    (row) =>
      (show === "" || (show === "mixed" && row.mixed) || (show === "failed" && row.failed) || (show === "running" && row.running)) &&
      (text === "" || row.slug?.toLowerCase().includes(text) || row.prompt.toLowerCase().includes(text)),
  );
}

function columnsOf(repeats: number): Column<MatrixRow>[] {
  const wide = repeats > 32 ? Math.min(repeats, 128) * 12 + 24 : Math.max(repeats * 27 + 24, 96);
  return [
    { name: "Task", width: 150, className: "on-phone", cell: (row) => <TaskLink row={row} /> },
    { name: "Prompt", className: "on-phone wide", cell: (row) => <span className="block truncate text-text-2">{row.prompt}</span> },
    { name: repeats === 1 ? "Run" : `Repeats 1 to ${repeats}`, width: repeats > 128 ? 220 : wide, className: "on-phone wide", cell: (row, index) => <Cells row={row} index={index} repeats={repeats} /> },
    { name: "Mean", width: 92, className: "on-phone", cell: (row) => <Gauge value={row.mean} why="no graded run" /> },
    { name: <span className="sr-only">Mark</span>, width: 76, cell: (row) => row.mixed && <span className="tag line">mixed</span> },
    { name: "Tokens", width: 84, className: "num", cell: (row) => <span className="text-text-2">{count(sum(row.runs.map((run) => run.total_tokens)))}</span> },
    { name: "Median", width: 96, className: "num", cell: (row) => <span className="text-text-2">{duration(median(row.runs))}</span> },
  ];
}

function TaskLink({ row }: { row: MatrixRow }) {
  const first = row.runs[0];
  const name = row.slug ?? first?.id.slice(0, 8) ?? "–";
  return first ? (
    <Link className="stretch mono" to={`/trace/${first.id}`} title={name}>
      {name}
    </Link>
  ) : (
    <span className="mono">{name}</span>
  );
}

function Cells({ row, index, repeats }: { row: MatrixRow; index: number; repeats: number }) {
  if (repeats > 128) return <Stacked runs={row.runs} />;
  const mini = repeats > 32;
  return (
    <span className={`flex flex-wrap ${mini ? "gap-0.5" : "gap-[3px]"}`}>
      {row.runs.map((run, column) => (
        <CellLink key={run.id} run={run} place={`${index}:${column}`} repeat={column + 1} mini={mini} first={index === 0 && column === 0} />
      ))}
    </span>
  );
}

function CellLink({ run, place, repeat, mini, first }: { run: RunRow; place: string; repeat: number; mini: boolean; first: boolean }) {
  const cell = cellOf(run);
  const said = `Repeat ${repeat}: ${cell.word}`;
  return (
    <a
      className={cellClass(cell, mini)}
      style={cellStyle(cell)}
      href={`/trace/${run.id}`}
      data-cell={place}
      data-kind={cell.kind}
      data-run={run.id}
      tabIndex={first ? 0 : -1}
      aria-label={said}
      title={run.error ? `${said}\n${run.error}` : said}
    >
      {cell.kind === "fail" && <b>{cell.letter}</b>}
      {cell.kind === "none" && "–"}
    </a>
  );
}

/** Very many repeats: shares instead of cells. */
function Stacked({ runs }: { runs: RunRow[] }) {
  const passed = runs.filter((run) => run.counted === "graded" && (run.reward ?? 0) >= 1).length;
  const failed = runs.filter((run) => run.counted === "failed").length;
  const graded = runs.filter((run) => run.counted === "graded").length;
  const share = (n: number) => `${(n / runs.length) * 100}%`;
  return (
    <span className="bar" role="img" aria-label={`${graded} graded, ${passed} with reward 1 or more, ${failed} failed, of ${runs.length}`}>
      <i style={{ width: share(passed), background: "var(--r100)" }} />
      <i style={{ width: share(graded - passed), background: "var(--r0)" }} />
      <i className="failed" style={{ width: share(failed) }} />
    </span>
  );
}

const sum = (values: (number | null)[]) => values.reduce((total, value) => (value === null ? total : (total ?? 0) + value), null);

function median(runs: RunRow[]): number | null {
  const seconds = runs.flatMap((run) => between(run.started_at, run.ended_at) ?? []).sort((a, b) => a - b);
  return seconds[Math.floor(seconds.length / 2)] ?? null;
}

export function Legend() {
  return (
    <ul className="legend flex flex-wrap items-center gap-x-3 gap-y-1 text-11 text-text-3" aria-label="Legend">
      {(
        [
          ["rw", "1", { "--c": "var(--r100)" }],
          ["rw z", reward(0, 0), { "--v": 0, "--c": "var(--r0)" }],
          ["rw fail", "failed", {}],
          ["rw can", "cancelled", {}],
          ["rw run", "running", {}],
          ["rw pen", "queued", {}],
        ] as const
      ).map(([mark, word, style]) => (
        <li key={word} className="flex items-center gap-1.5">
          <span className={mark} style={style as React.CSSProperties} aria-hidden="true" />
          {word}
        </li>
      ))}
    </ul>
  );
}
