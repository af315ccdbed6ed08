/** The tasks of one version: virtual rows, text search on the server, choosing tasks for a job. The choice survives search and paging. */
import { useCallback, useState } from "react";
import { Link, useNavigate, useSearchParams } from "react-router";
import { tasksQuery } from "../api/queries";
import type { TaskRow, TasksetOut } from "../api/types";
import { count, plural } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { PART, useKeys } from "../ui/keys";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { Search } from "../ui/Search";
import { useRows } from "../ui/useRows";
import type { Column } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";
import { promptOf } from "./prompt";

export function TaskTable({ set, pinned, onUpload }: { set: TasksetOut; pinned: boolean; onUpload: () => void }) {
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const q = params.get("q") ?? "";
  const ref = set.head ? `${set.name}@${set.head.number}` : set.id;
  const tasks = useRows(tasksQuery(pinned ? ref : set.id, { q }));
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const search = (text: string) => {
    const next = new URLSearchParams(params);
    if (text) next.set("q", text);
    else next.delete("q");
    setParams(next, { replace: true });
  };
  const choose = useCallback((slugs: string[], on: boolean) => {
    setChosen((before) => {
      const next = new Set(before);
      for (const slug of slugs) {
        if (on) next.add(slug);
        else next.delete(slug);
      }
      return next;
    });
  }, []);
  const start = (only: "chosen" | "match") => {
    const query = new URLSearchParams({ taskset: ref });
    if (only === "match") query.set("q", q);
    const slugs = [...chosen];
    if (only === "chosen" && slugs.length <= 50) slugs.forEach((slug) => query.append("slug", slug));
    void navigate(`/jobs/new?${query.toString()}`, only === "chosen" && slugs.length > 50 ? { state: { slugs } } : {});
  };
  useKeys("Tasks", chosen.size ? [{ keys: "n", what: `New job on ${plural(chosen.size, "chosen task")}`, run: () => start("chosen") }] : [], PART);
  const total = q ? tasks.total : (set.head?.task_count ?? 0);
  return (
    <>
      <div className="flex flex-wrap items-center gap-3 border-b border-line px-6 py-2 max-md:px-4">
        <Search label="Search slugs and arguments" value={q} onChange={search} />
        <span className="text-12 text-text-2 tnum" aria-live="polite">
          {total === null ? "" : q ? `${count(total)} of ${count(set.head?.task_count ?? 0)} tasks match` : plural(total, "task")}
        </span>
        <span className="grow" />
        {chosen.size > 0 && (
          <>
            <span className="tag acc tnum">{count(chosen.size)} selected</span>
            <button type="button" className="btn ghost" onClick={() => setChosen(new Set())}>
              Clear
            </button>
            <button type="button" className="btn" onClick={() => start("chosen")}>
              <Icon name="play" /> New job on {plural(chosen.size, "task")}
            </button>
          </>
        )}
        {chosen.size === 0 && q && (total ?? 1) > 0 && (
          <button type="button" className="btn" onClick={() => start("match")}>
            <Icon name="play" /> New job on those that match
          </button>
        )}
      </div>
      {tasks.error ? (
        <Failed what="Could not load the tasks" error={tasks.error} retry={tasks.retry} />
      ) : tasks.loading ? (
        <Skeleton />
      ) : (
        <VirtualTable
          label="Tasks"
          rows={tasks.rows}
          columns={columnsOf(set, tasks.rows, chosen, choose, pinned)}
          keyOf={(task) => task.slug}
          total={total}
          selected={(task) => chosen.has(task.slug)}
          more={tasks.more}
          loadingMore={tasks.loadingMore}
          minWidth={820}
          empty={
            q ? (
              <Empty title={`No task has “${q}” in its slug or arguments`} action={<button type="button" className="btn" onClick={() => search("")}>Clear search</button>} />
            ) : (
              <Empty title="No tasks yet" action={<button type="button" className="btn" onClick={onUpload}>Upload tasks</button>} command={`hud sync tasks ${set.name} tasks.py`}>
                Upload CSV, JSON, JSONL, Parquet or a zip of task folders, or sync from your code.
              </Empty>
            )
          }
        />
      )}
    </>
  );
}

function columnsOf(set: TasksetOut, rows: TaskRow[], chosen: ReadonlySet<string>, choose: (slugs: string[], on: boolean) => void, pinned: boolean): Column<TaskRow>[] {
  const all = rows.length > 0 && rows.every((row) => chosen.has(row.slug));
  const query = pinned && set.head ? `?v=${set.head.number}` : "";
  const manyEnvs = new Set(rows.map((row) => row.env)).size > 1;
  return [
    {
      name: <input type="checkbox" aria-label={`Select the ${count(rows.length)} loaded tasks`} checked={all} onChange={(event) => choose(rows.map((row) => row.slug), event.target.checked)} />,
      width: 52,
      cell: (row) => <input type="checkbox" aria-label={`Select ${row.slug}`} checked={chosen.has(row.slug)} onChange={(event) => choose([row.slug], event.target.checked)} />,
    },
    {
      name: "Slug",
      width: 180,
      className: "on-phone",
      cell: (row) => (
        <Link className="stretch mono" to={`/tasksets/${set.id}/tasks/${encodeURIComponent(row.slug)}${query}`}>
          {row.slug}
        </Link>
      ),
    },
    { name: "Arguments", className: "on-phone wide", cell: (row) => <span className="block truncate text-text-2">{promptOf(row.args_preview)}</span> },
    ...columnNames(rows).map(
      (name): Column<TaskRow> => ({ name, width: 120, cell: (row) => <span className="text-text-2">{columnValue(row.columns, name)}</span> }),
    ),
    { name: "Template", width: 140, cell: (row) => <code className="text-text-2">{row.task_id}</code> },
    ...(manyEnvs ? [{ name: "Environment", width: 150, cell: (row: TaskRow) => <span className="text-text-2">{row.env}</span> }] : []),
  ];
}

/** The first three short columns that the loaded tasks have; long ones stay on the task's own page. */
function columnNames(rows: TaskRow[]): string[] {
  const names = new Map<string, number>();
  for (const row of rows.slice(0, 50)) for (const [name, value] of Object.entries(parsed(row.columns))) names.set(name, Math.max(names.get(name) ?? 0, String(value).length));
  return [...names].filter(([, longest]) => longest <= 24).map(([name]) => name).slice(0, 3);
}

function columnValue(columns: string | null, name: string): string {
  const value = parsed(columns)[name];
  return value === undefined || value === null ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value);
}

function parsed(text: string | null): Record<string, unknown> {
  if (!text) return {};
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
