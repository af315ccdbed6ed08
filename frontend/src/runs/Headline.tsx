/** The figures of a job and the line that accounts for every run. Few runs are said to be few. */
import { useEffect, useState } from "react";
import type { JobOut } from "../api/types";
import { ABSENT, count, duration, money, percent, plural, reward } from "../ui/formats";
import { Bar, ended, SumLine } from "../ui/Progress";
import { Age } from "../ui/Time";
import type { MatrixRow, Tally } from "./tally";

const FEW = 30;

export function Headline({ job, sums, rows }: { job: JobOut; sums: Tally; rows: MatrixRow[] }) {
  const { counts } = sums;
  const few = counts.graded < FEW;
  return (
    <div className="flex-none px-6 pb-1 max-md:px-4">
      <section aria-label="Headline" className="grid grid-cols-4 rounded-3 border border-line max-md:grid-cols-2 [&>div]:border-line [&>div]:px-4 [&>div]:py-2 [&>div:not(:first-child)]:border-l max-md:[&>div:nth-child(3)]:border-l-0 max-md:[&>div:nth-child(n+3)]:border-t">
        <div>
          <h2 className="lab">Mean reward</h2>
          <div className={`text-28 font-semibold tnum ${few ? "text-text-2" : ""}`} title={sums.mean === null ? "no graded run yet" : String(sums.mean)} data-testid="mean">
            {reward(sums.mean, 3)}
          </div>
          <div className="text-11 text-text-3 tnum">
            {sums.mean === null ? "no graded run yet" : `n = ${count(counts.graded)} graded${few ? ", few runs" : ""}`}
          </div>
        </div>
        <div>
          <h2 className="lab">Pass rate</h2>
          <div className={`text-28 font-semibold tnum ${few ? "text-text-2" : ""}`}>{percent(sums.passRate)}</div>
          <div className="text-11 text-text-3 tnum">
            {sums.passRate === null ? "reward of 1 or more" : `${count(Math.round(sums.passRate * counts.graded))} of ${count(counts.graded)} with reward 1 or more`}
          </div>
        </div>
        <div>
          <h2 className="lab">Cost</h2>
          <div className="text-20 font-semibold leading-[34px] tnum" title={sums.cost === null ? "not priced" : String(sums.cost)}>
            {money(sums.cost)}
          </div>
          <div className="text-11 text-text-3 tnum">{sums.tokens === null ? "no tokens recorded" : `${count(sums.tokens)} tokens`}</div>
        </div>
        <Pace job={job} sums={sums} rows={rows} />
      </section>
      <section aria-label="Every run accounted for" className="grid gap-1.5 pb-1 pt-3">
        <Bar counts={counts} height={8} />
        <SumLine counts={counts} />
        <Announce counts={`${count(ended(counts))} of ${count(counts.expected)} ended, ${count(counts.failed)} failed`} />
      </section>
    </div>
  );
}

function Pace({ job, sums, rows }: { job: JobOut; sums: Tally; rows: MatrixRow[] }) {
  const { counts } = sums;
  const over = counts.pending === 0;
  const median = medianSeconds(rows);
  return (
    <div>
      <h2 className="lab">{over ? "Wall time" : "Running for"}</h2>
      <div className="text-20 font-semibold leading-[34px]">{job.started_at ? <Age since={job.started_at} until={over ? (job.ended_at ?? sums.endedAt) : null} /> : ABSENT}</div>
      <div className="text-11 text-text-3 tnum">
        {over ? `${plural(counts.expected, "run")}, median ${duration(median)}` : job.started_at ? `${count(counts.running)} running, median ${duration(median)}` : "waiting for a slot"}
      </div>
    </div>
  );
}

function medianSeconds(rows: MatrixRow[]): number | null {
  const seconds = rows
    .flatMap((row) => row.runs)
    .flatMap((run) => (run.started_at && run.ended_at ? [(Date.parse(run.ended_at) - Date.parse(run.started_at)) / 1000] : []))
    .sort((a, b) => a - b);
  return seconds[Math.floor(seconds.length / 2)] ?? null;
}

/** Readers hear the count politely, every ten seconds at most. */
function Announce({ counts }: { counts: string }) {
  const [said, say] = useState(counts);
  useEffect(() => {
    const timer = setTimeout(() => say(counts), 10_000);
    return () => clearTimeout(timer);
  }, [counts]);
  return (
    <span className="sr-only" aria-live="polite">
      {said}
    </span>
  );
}
