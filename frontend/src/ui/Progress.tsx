/** Promise 2 on the page: expected = graded + failed + cancelled + pending. When it does not add up, it says so in red. */
import type { Counts } from "../api/types";
import { count } from "./formats";
import { State } from "./State";

type Parts = Pick<Counts, "expected" | "graded" | "failed" | "cancelled" | "pending" | "running" | "queued">;

export const difference = (counts: Parts) => counts.expected - (counts.graded + counts.failed + counts.cancelled + counts.pending);
export const ended = (counts: Parts) => counts.graded + counts.failed + counts.cancelled;

export function Bar({ counts, height = 6 }: { counts: Parts; height?: number }) {
  const share = (n: number) => `${counts.expected > 0 ? (n / counts.expected) * 100 : 0}%`;
  const said = `${count(counts.graded)} graded, ${count(counts.failed)} failed, ${count(counts.cancelled)} cancelled, ${count(counts.pending)} pending`;
  return (
    <div className="bar gap-px" style={{ height, borderRadius: height / 2 }} role="img" aria-label={said}>
      {(["graded", "failed", "cancelled", "running"] as const).map((part) => counts[part] > 0 && <i key={part} className={part} style={{ width: share(counts[part]), minWidth: 2 }} />)}
    </div>
  );
}

export function SumLine({ counts }: { counts: Parts }) {
  const missing = difference(counts);
  const part = (name: "graded" | "failed" | "cancelled" | "running", n: number, word: string) => (
    <span className="inline-flex items-center gap-1.5">
      <i className="key" aria-hidden="true" style={{ background: COLOUR[name] }} />
      {count(n)} {word}
    </span>
  );
  const plus = <span className="text-text-3">+</span>;
  return (
    <div className={`flex flex-wrap items-center gap-x-2.5 gap-y-1 text-12 tnum ${missing === 0 ? "" : "rounded-1 bg-bad-soft px-2 py-1 text-bad"}`} data-sum={missing === 0 ? "ok" : "off"}>
      <b className="font-semibold">{count(counts.expected)} expected</b>
      <span className="text-text-3">=</span>
      {part("graded", counts.graded, "graded")} {plus} {part("failed", counts.failed, "failed")} {plus} {part("cancelled", counts.cancelled, "cancelled")} {plus}
      <span className="inline-flex items-center gap-1.5">
        {part("running", counts.pending, "pending")}
        {counts.pending > 0 && (
          <span className="text-text-3">
            ({count(counts.running)} running, {count(counts.queued)} queued)
          </span>
        )}
      </span>
      {missing === 0 ? (
        <State kind="ok">adds up</State>
      ) : (
        <State kind="bad">
          does not add up: {count(Math.abs(missing))} {missing > 0 ? "missing" : "too many"}
        </State>
      )}
    </div>
  );
}

const COLOUR = { graded: "var(--r100)", failed: "var(--bad-fill)", cancelled: "var(--text-3)", running: "var(--info)" };
