/** The whole job in 28 pixels: one column a task, one row a repeat; the window is what the table shows, dragging it scrolls. When tasks
 * share a pixel the worst one is drawn. A canvas, because it is only a picture: the table below says the same in words. */
import { useEffect, useRef } from "react";
import type { PointerEvent } from "react";
import type { RunRow } from "../api/types";
import { useShownTheme } from "../shell/preferences";
import { plural } from "../ui/formats";
import type { MatrixRow } from "./tally";
import type { Cell } from "./words";
import { cellOf } from "./words";

const HEIGHT = 28;
/** Pixels a task takes at most. */
const WIDEST = 14;

/** Failed outranks running, which outranks the lowest reward. */
const rank = (cell: Cell) => (cell.kind === "fail" ? 5 : cell.kind === "run" ? 4 : cell.kind === "reward" ? 3 - cell.fill : cell.kind === "pen" ? 1 : 0.5);

export function worst(runs: RunRow[]): Cell | null {
  return runs.reduce<Cell | null>((found, run) => {
    const cell = cellOf(run);
    return !found || rank(cell) > rank(found) ? cell : found;
  }, null);
}

interface Props {
  rows: MatrixRow[];
  repeats: number;
  range: { first: number; last: number };
  onPick: (index: number) => void;
}

export function MiniMap({ rows, repeats, range, onPick }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useShownTheme();
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const draw = () => paint(element, rows, repeats);
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    return () => observer.disconnect();
  }, [rows, repeats, theme]);
  if (rows.length < 2) return null;
  const pick = (event: PointerEvent<HTMLElement>) => {
    if (event.buttons !== 1) return;
    const box = event.currentTarget.getBoundingClientRect();
    onPick(Math.min(rows.length - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * rows.length))));
  };
  const share = (n: number) => `${(n / rows.length) * 100}%`;
  return (
    <div className="flex-none px-6 pb-2 max-md:px-4">
      <div className="relative h-7 cursor-pointer touch-none" style={{ maxWidth: rows.length * WIDEST }} onPointerDown={pick} onPointerMove={pick}>
        <canvas ref={canvas} className="block h-7 w-full" role="img" aria-label={`Overview of ${plural(rows.length, "task")}, ${plural(repeats, "repeat")} each; the same as the table below`} />
        <span
          aria-hidden="true"
          className="pointer-events-none absolute -bottom-[3px] -top-[3px] rounded-1 border-[1.5px] border-accent"
          style={{ left: share(range.first), width: share(Math.min(rows.length, range.last + 1) - range.first), minWidth: 6, background: "color-mix(in srgb, var(--accent) 8%, transparent)" }}
        />
      </div>
    </div>
  );
}

function paint(element: HTMLCanvasElement, rows: MatrixRow[], repeats: number) {
  const context = element.getContext("2d");
  if (!context) return;
  const scale = window.devicePixelRatio || 1;
  const width = element.clientWidth;
  element.width = width * scale;
  element.height = HEIGHT * scale;
  context.scale(scale, scale);
  const styles = getComputedStyle(element);
  const colour = (token: string) => styles.getPropertyValue(token);
  const columns = Math.min(rows.length, Math.floor(width / 2));
  const lines = Math.min(Math.max(1, repeats), 7);
  const w = width / Math.max(1, columns);
  const h = HEIGHT / lines;
  for (let column = 0; column < columns; column += 1) {
    const from = Math.floor((column * rows.length) / columns);
    const to = Math.max(from + 1, Math.floor(((column + 1) * rows.length) / columns));
    const runs = rows.slice(from, to).flatMap((row) => row.runs);
    for (let line = 0; line < lines; line += 1) {
      const low = Math.floor((line * repeats) / lines);
      const high = Math.max(low + 1, Math.floor(((line + 1) * repeats) / lines));
      const cell = worst(to - from === 1 ? (rows[from]?.runs.slice(low, high) ?? []) : runs.filter((run) => run.repeat >= low && run.repeat < high));
      if (cell) mark(context, colour, cell, column * w, line * h, Math.max(1, w - (w > 3 ? 1 : 0)), Math.max(1, h - (h > 3 ? 1 : 0)));
    }
  }
}

function mark(context: CanvasRenderingContext2D, colour: (token: string) => string, cell: Cell, x: number, y: number, w: number, h: number) {
  const fill = (token: string, top = y, height = h) => {
    context.fillStyle = colour(token);
    context.fillRect(x, top, w, height);
  };
  if (cell.kind === "reward") {
    fill(cell.fill <= 0 ? "--r0-soft" : "--r-track");
    const height = Math.max(Math.min(2, h), cell.fill * h);
    fill(cell.shade, y + h - height, height);
  } else if (cell.kind === "fail") fill("--bad-fill");
  else if (cell.kind === "run") {
    fill("--info");
    if (w > 3 && h > 3) {
      context.fillStyle = colour("--info-soft");
      context.fillRect(x + 1, y + 1, w - 2, h - 2);
    }
  } else fill(cell.kind === "can" ? "--control" : "--line", y + h / 2, Math.max(1, Math.min(2, h / 4)));
}
