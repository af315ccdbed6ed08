/** Reward as fill height and colour; failed, cancelled, queued and running are marks of their own. */
import type { CSSProperties } from "react";
import type { Cell } from "../runs/words";
import { rewardCell } from "../runs/words";
import { ABSENT, reward } from "./formats";

export const cellClass = (cell: Cell, mini = false) => {
  const base = mini ? "rw mini" : "rw";
  if (cell.kind !== "reward") return `${base} ${cell.kind}`;
  return `${base}${cell.fill <= 0 ? " z" : ""}${cell.outside ? " out" : ""}`;
};

export const cellStyle = (cell: Cell): CSSProperties | undefined =>
  cell.kind === "reward" ? ({ "--v": cell.fill, "--c": `var(${cell.shade})` } as CSSProperties) : undefined;

export function Mark({ cell, mini = false }: { cell: Cell; mini?: boolean }) {
  return (
    <span className={cellClass(cell, mini)} style={cellStyle(cell)} aria-hidden="true">
      {cell.kind === "fail" && <b>{cell.letter}</b>}
      {cell.kind === "none" && ABSENT}
    </span>
  );
}

/** Gauge and number; absent says why. */
export function Gauge({ value, decimals = 2, why = "no reward yet" }: { value: number | null; decimals?: number; why?: string }) {
  if (value === null) return <span title={why}>{ABSENT}</span>;
  return (
    <span className="rwn" title={String(value)}>
      <Mark cell={rewardCell(value)} mini />
      {reward(value, decimals)}
    </span>
  );
}
