/** One task through the versions that added, changed or removed it, newest first; each leads to what changed there. */
import { Link } from "react-router";
import { taskHistoryQuery } from "../api/queries";
import type { TasksetOut } from "../api/types";
import { Failed, Skeleton } from "../ui/Notices";
import { Time } from "../ui/Time";
import { useRows } from "../ui/useRows";
import { MARK } from "./changes";
import { diffPath, taskPath } from "./paths";

export function TaskHistory({ set, slug }: { set: TasksetOut; slug: string }) {
  const history = useRows(taskHistoryQuery(set.id, slug));
  return (
    <section className="card" aria-labelledby="task-history">
      <header>
        <h2 id="task-history">History</h2>
      </header>
      {history.error && <Failed what="Could not load the history" error={history.error} retry={history.retry} />}
      {history.loading && <Skeleton rows={2} />}
      <ol className="grid gap-1 p-3.5">
        {history.rows.map((row) => (
          <li key={row.version_number} className="flex flex-wrap items-center gap-x-2">
            <span className={`dm ${MARK[row.kind].className}`} aria-hidden="true">
              {MARK[row.kind].sign}
            </span>
            {row.kind === "removed" ? <b className="font-medium">v{row.version_number}</b> : <Link to={taskPath(set, slug, row.version_number)}>v{row.version_number}</Link>}
            {row.version_number > 1 ? <Link className="text-text-2" to={diffPath(set, row.version_number - 1, row.version_number, slug)}>{MARK[row.kind].word}</Link> : <span className="text-text-2">{MARK[row.kind].word}</span>}
            <span className="min-w-0 truncate text-text-2">{row.message}</span>
            <span className="text-12 text-text-3">
              {row.author ?? "system"}, <Time at={row.at} />
            </span>
          </li>
        ))}
      </ol>
      {history.more && (
        <button type="button" className="btn ghost w-full" onClick={history.more}>
          Older versions
        </button>
      )}
    </section>
  );
}
