/** Find a taskset, see if it is alive, make or upload one. */
import { useState } from "react";
import { Link, useNavigate, useSearchParams } from "react-router";
import { tasksetsQuery } from "../api/queries";
import type { TasksetOut } from "../api/types";
import { newImport } from "../imports/paths";
import { ABSENT, count } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { useKeys } from "../ui/keys";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { PageHead } from "../ui/Page";
import { Search } from "../ui/Search";
import { Time } from "../ui/Time";
import { hud, rest, sdk, UseFromCode } from "../ui/UseFromCode";
import { useRows } from "../ui/useRows";
import type { Column } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";
import { IN_PLACE } from "../ui/useAddress";
import { LastMean, useLastJob } from "./lastJob";
import { PullDialog } from "./PullDialog";

const COLUMNS: Column<TasksetOut>[] = [
  {
    name: "Name",
    className: "on-phone",
    cell: (set) => (
      <Link className="stretch" to={`/tasksets/${set.id}`}>
        {set.title}
        {set.title !== set.name && <span className="ml-2 text-text-3">{set.name}</span>}
      </Link>
    ),
  },
  { name: "Head", width: 80, className: "on-phone", cell: (set) => (set.head ? <span className="tag">v{set.head.number}</span> : <span title="nothing uploaded yet">{ABSENT}</span>) },
  { name: "Tasks", width: 90, className: "num", cell: (set) => (set.head ? count(set.head.task_count) : "0") },
  { name: "Environments", width: 220, cell: (set) => <span className="text-text-2">{set.environments.join(", ") || ABSENT}</span> },
  { name: "Last job", width: 220, cell: (set) => <LastJobLink taskset={set.id} /> },
  { name: "Mean", width: 90, cell: (set) => <LastMean taskset={set.id} /> },
  { name: "Changed", width: 160, className: "num on-phone wide", cell: (set) => <span className="text-text-2"><Time at={set.changed_at} /></span> },
];

function LastJobLink({ taskset }: { taskset: string }) {
  const last = useLastJob(taskset);
  if (!last) return <span title="no job yet">{ABSENT}</span>;
  return (
    <Link className="plain text-text-2" to={`/jobs/${last.id}`}>
      {last.name}
    </Link>
  );
}

export default function Tasksets() {
  const [params, setParams] = useSearchParams();
  const q = params.get("q") ?? "";
  const navigate = useNavigate();
  const [pulling, setPulling] = useState(false);
  useKeys("Tasksets", [{ keys: "u", what: "Upload tasks", run: () => void navigate(newImport(null)) }]);
  const sets = useRows(tasksetsQuery({ q }));
  const upload = (
    <Link className="btn pri" to={newImport(null)}>
      <Icon name="upload" /> Upload tasks
    </Link>
  );
  return (
    <main id="main" className="page fill">
      <PageHead
        title="Tasksets"
        actions={
          <>
            <UseFromCode snippets={[rest("/api/tasksets"), sdk('from hud import Taskset\ntasks = Taskset.from_api("NAME")'), hud("hud sync tasks NAME tasks.py")]} />
            <button type="button" className="btn" onClick={() => setPulling(true)}>
              <Icon name="download" /> Pull from another Proctor…
            </button>
            {upload}
          </>
        }
      />
      <div className="flex items-center gap-3 border-b border-line px-6 pb-2 max-md:px-4">
        <Search label="Search tasksets" value={q} onChange={(value) => setParams(value ? { q: value } : {}, IN_PLACE)} />
        {sets.total !== null && <span className="text-12 text-text-3">{count(sets.total)} tasksets</span>}
      </div>
      {sets.error ? (
        <Failed what="Could not load the tasksets" error={sets.error} retry={sets.retry} />
      ) : sets.loading ? (
        <Skeleton />
      ) : (
        <VirtualTable
          label="Tasksets"
          rows={sets.rows}
          columns={COLUMNS}
          keyOf={(set) => set.id}
          more={sets.more}
          loadingMore={sets.loadingMore}
          minWidth={980}
          empty={
            q ? (
              <Empty title={`No taskset has “${q}” in its name`} action={<button type="button" className="btn" onClick={() => setParams({})}>Clear search</button>} />
            ) : (
              <Empty title="No taskset yet" action={upload} command="hud sync tasks my-taskset tasks.py">
                A taskset is what a job runs: tasks with a prompt, arguments and a grader. Upload CSV, JSON, JSONL, Parquet or a zip of task folders, or sync from your code.
              </Empty>
            )
          }
        />
      )}
      {pulling && <PullDialog onClose={() => setPulling(false)} />}
    </main>
  );
}
