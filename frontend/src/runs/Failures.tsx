/** Failed runs by cause and blame: the letter of the cell, the message, how many, and examples to open. */
import { Link } from "react-router";
import type { Counts, FailureGroup } from "../api/types";
import { count, plural, shortId } from "../ui/formats";
import { Empty } from "../ui/Notices";
import { Mark } from "../ui/Reward";
import { BLAME_LETTER } from "./words";

const mark = (group: FailureGroup) => <Mark cell={{ kind: "fail", letter: group.blame ? BLAME_LETTER[group.blame] : "!", word: "failed" }} />;
const blamed = (group: FailureGroup) => (group.blame ? `blamed on ${group.blame}` : "nobody blamed");

/** Beside the matrix: one line a cause. */
export function FailureList({ groups, total, job }: { groups: FailureGroup[]; total: number; job: string }) {
  return (
    <>
      <div className="mb-1 flex items-center gap-2">
        <h2>Failures</h2>
        <span className="tag bad tnum">{count(total)}</span>
        <span className="grow" />
        <Link className="text-12" to={`/jobs/${job}/failures`}>
          All causes
        </Link>
      </div>
      <ul className="grid grid-cols-1 gap-1">
        {groups.map((group, index) => (
          <li key={index} className="flex items-center gap-2.5 py-1">
            {mark(group)}
            <span className="min-w-0 grow leading-[17px]">
              <Link className="plain block truncate font-medium" to={`/trace/${group.example_run_ids[0] ?? ""}`} title={group.message}>
                {group.message}
              </Link>
              <span className="text-11 text-text-3">
                {group.failure_class}, {blamed(group)}
              </span>
            </span>
            <b className="tnum">{count(group.count)}</b>
          </li>
        ))}
      </ul>
    </>
  );
}

export function Failures({ groups, counts, job }: { groups: FailureGroup[]; counts: Counts; job: string }) {
  if (counts.failed === 0) {
    return <Empty title="No run failed">{counts.pending > 0 ? "Failures of runs that still go on would show here, by cause." : "Every run of this job was graded or cancelled."}</Empty>;
  }
  return (
    <div className="scroll min-h-0 grow px-6 py-4 max-md:px-4">
      <ul className="grid max-w-[960px] grid-cols-1 gap-3">
        {groups.map((group, index) => (
          <li key={index} className="card flex gap-3 p-3">
            {mark(group)}
            <div className="grid min-w-0 grow gap-1">
              <h2 className="text-13">
                {plural(group.count, "run")}, {blamed(group)} <span className="tag line ml-1">{group.failure_class}</span>
              </h2>
              <p className="text-text-2 [overflow-wrap:anywhere]">{group.message}</p>
              <p className="flex flex-wrap gap-2 text-12">
                <span className="text-text-3">Examples</span>
                {group.example_run_ids.map((id) => (
                  <Link key={id} className="mono" to={`/trace/${id}`}>
                    {shortId(id)}
                  </Link>
                ))}
              </p>
            </div>
          </li>
        ))}
      </ul>
      <p className="mt-3 text-12 text-text-3">
        A failed run has no reward and is left out of the mean. <Link to={`/jobs/${job}/runs?counted=failed`}>All {count(counts.failed)} as a list</Link>
      </p>
    </div>
  );
}
