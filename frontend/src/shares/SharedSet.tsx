/** A shared taskset: the facts that pin it, its tasks with search, and a file of them. */
import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearchParams } from "react-router";
import { sharedQuery, sharedTasksQuery } from "../api/queries";
import type { SharedTaskset, TaskRow } from "../api/types";
import { DownloadMenu } from "../tasksets/DownloadMenu";
import { cellIn, promptIn, shortColumns } from "../tasksets/table/cells";
import { Digest } from "../ui/Copy";
import { ABSENT, count, plural } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { PageHead } from "../ui/Page";
import { Search } from "../ui/Search";
import { Time } from "../ui/Time";
import { useRows } from "../ui/useRows";
import type { Column } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";
import { IN_PLACE } from "../ui/useAddress";
import { Gone } from "./Gone";

export default function SharedSet() {
  const { token = "" } = useParams();
  const shared = useQuery(sharedQuery(token));
  if (!shared.data) return <Gone what="the taskset" error={shared.error} retry={() => void shared.refetch()} />;
  const set = shared.data;
  return (
    <main id="main" className="page fill">
      <PageHead
        title={set.title}
        state={set.version_number !== null && <span className="tag acc"><Icon name="tag" /> v{set.version_number}</span>}
        meta={<Facts set={set} />}
        actions={<DownloadMenu path={`/api/shared/${token}/download`} what={plural(set.task_count, "task")} />}
      />
      <Tasks key={set.digest} set={set} token={token} />
    </main>
  );
}

function Facts({ set }: { set: SharedTaskset }) {
  return (
    <>
      <span className="tnum">
        <Icon name="taskset" /> {plural(set.task_count, "task")}
      </span>
      {set.environments.map((name) => (
        <span key={name}>
          <Icon name="environment" /> {name}
        </span>
      ))}
      {set.digest && (
        <span>
          <Icon name="hash" /> <Digest value={set.digest} what="version digest" />
        </span>
      )}
      {set.made_at && (
        <span>
          <Icon name="clock" /> <Time at={set.made_at} />
        </span>
      )}
      <span>
        {set.pinned ? "This link shows this version for good" : "This link shows the newest version"}
        {set.expires_at && (
          <>
            {" "}
            and ends <Time at={set.expires_at} />
          </>
        )}
      </span>
    </>
  );
}

function Tasks({ set, token }: { set: SharedTaskset; token: string }) {
  const [params, setParams] = useSearchParams();
  const q = params.get("q") ?? "";
  const tasks = useRows(sharedTasksQuery(token, { q }));
  const search = (text: string) => setParams(text ? { q: text } : {}, IN_PLACE);
  return (
    <>
      <div className="flex flex-wrap items-center gap-3 border-b border-line px-6 py-2 max-md:px-4">
        <Search label="Search slugs and arguments" value={q} onChange={search} />
        <span className="text-12 text-text-2 tnum" aria-live="polite">
          {q && tasks.total !== null ? `${count(tasks.total)} of ${count(set.task_count)} tasks match` : plural(set.task_count, "task")}
        </span>
      </div>
      {tasks.error ? (
        <Failed what="Could not load the tasks" error={tasks.error} retry={tasks.retry} />
      ) : tasks.loading ? (
        <Skeleton />
      ) : (
        <VirtualTable
          label="Tasks"
          rows={tasks.rows}
          columns={columnsOf(token, tasks.rows)}
          keyOf={(task) => task.slug}
          total={tasks.total}
          more={tasks.more}
          loadingMore={tasks.loadingMore}
          minWidth={820}
          empty={
            q ? (
              <Empty title={`No task has “${q}” in its slug or arguments`} action={<button type="button" className="btn" onClick={() => search("")}>Clear search</button>} />
            ) : (
              <Empty title="No tasks yet">This taskset holds no task at this time.</Empty>
            )
          }
        />
      )}
    </>
  );
}

const columnsOf = (token: string, rows: readonly TaskRow[]): Column<TaskRow>[] => [
  {
    name: "Slug",
    width: 220,
    className: "on-phone",
    cell: (row) => (
      <Link className="stretch mono" to={`/share/${token}/tasks/${encodeURIComponent(row.slug)}`}>
        {row.slug}
      </Link>
    ),
  },
  { name: "Arguments", className: "on-phone wide", cell: (row) => <span className="block truncate text-text-2">{promptIn(row)}</span> },
  ...shortColumns(rows).map((name): Column<TaskRow> => ({ name, width: 120, cell: (row) => <span className="text-text-2">{cellIn(row, name)?.text ?? ABSENT}</span> })),
  { name: "Template", width: 140, cell: (row) => <code className="text-text-2">{row.task_id}</code> },
  { name: "Environment", width: 150, cell: (row) => <span className="text-text-2">{row.env}</span> },
];
