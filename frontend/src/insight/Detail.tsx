/** One finding: a task that does not fit, two tasks beside each other, or the place of an answer in a prompt. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { taskQuery } from "../api/queries";
import type { TasksetOut } from "../api/types";
import { taskPath } from "../tasksets/paths";
import { TaskDiff } from "../tasksets/TaskDiff";
import { textOfTask } from "../tasksets/taskText";
import { Json } from "../ui/Json";
import { Failed, Skeleton } from "../ui/Notices";
import { Segments } from "../ui/Segments";
import type { Found } from "./queries";
import { share } from "./words";

interface Props {
  set: TasksetOut;
  version: number;
  row: Found;
  place: string;
}

export function Detail({ set, version, row, place }: Props) {
  const title = row.list === "near" || row.list === "exact" ? `${row.slug} and ${row.other}` : row.slug;
  return (
    <section className="one" aria-label={title}>
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1 px-4 py-2">
        <h2 className="mono [overflow-wrap:anywhere]">{title}</h2>
        <span className="text-12 text-text-2 tnum">{place}</span>
        <span className="grow" />
        {(row.list === "near" || row.list === "exact") && (
          <Link className="btn" to={taskPath(set, row.slug, version)}>
            Open {row.slug}
          </Link>
        )}
        <Link className="btn" to={taskPath(set, "other" in row ? row.other : row.slug, version)}>
          Open {"other" in row ? row.other : "task"}
        </Link>
      </div>
      {row.list === "checks" && <Check set={set} version={version} row={row} />}
      {row.list === "leaks" && <Leak row={row} />}
      {(row.list === "near" || row.list === "exact") && <Pair set={set} version={version} row={row} />}
    </section>
  );
}

function Check({ set, version, row }: { set: TasksetOut; version: number; row: Extract<Found, { list: "checks" }> }) {
  const task = useQuery(taskQuery(`${set.name}@${version}`, row.slug));
  return (
    <div className="scroll min-h-0 grow px-4 pb-4" tabIndex={0} role="region" aria-label="The task">
      <p className="pb-3">
        <code>{row.path}</code> {row.rule}
        {row.value !== null && (
          <>
            . It is <code className="[overflow-wrap:anywhere]">{row.value}</code>
          </>
        )}
      </p>
      {task.error ? <Failed what={`Could not load ${row.slug}`} error={task.error} retry={() => void task.refetch()} /> : task.data ? <Json text={textOfTask(task.data)} label={row.slug} /> : <Skeleton />}
    </div>
  );
}

/** How much of the prompt comes along on each side, at most. */
const AROUND = 60;

function Leak({ row }: { row: Extract<Found, { list: "leaks" }> }) {
  return (
    <div className="grid gap-3 px-4 pb-4">
      <p className="text-text-2">
        <code>{row.answer_path}</code> is <code className="text-text [overflow-wrap:anywhere]">{row.answer}</code>, and stands in <code>{row.prompt_path}</code>:
      </p>
      <blockquote className="card prose p-3">
        {row.before.length === AROUND && "…"}
        {row.before}
        <mark className="rounded-1 bg-warn-soft px-0.5 font-semibold text-warn">{row.match}</mark>
        {row.after}
        {row.after.length === AROUND && "…"}
      </blockquote>
    </div>
  );
}

const VIEWS = [
  ["split", "Side by side"],
  ["unified", "Unified"],
] as const;

function Pair({ set, version, row }: { set: TasksetOut; version: number; row: Extract<Found, { list: "exact" | "near" }> }) {
  const [view, setView] = useState<"split" | "unified">("split");
  const [whole, setWhole] = useState(row.list === "exact");
  const pinned = `${set.name}@${version}`;
  const [left, right] = [useQuery(taskQuery(pinned, row.slug)), useQuery(taskQuery(pinned, row.other))];
  const error = left.error ?? right.error;
  if (error) return <Failed what="Could not load the tasks" error={error} />;
  if (!left.data || !right.data) return <Skeleton />;
  return (
    <>
      <div className="flex flex-wrap items-center gap-3 px-4 pb-2">
        <span className="text-12 text-text-2">
          {row.list === "exact" ? "The same content under two slugs" : <>Jaccard of their prompts: <b className="font-semibold text-text tnum">{share(row.jaccard)}</b></>}
        </span>
        <span className="grow" />
        <label className="flex items-center gap-1.5 text-12">
          <input type="checkbox" checked={!whole} onChange={(event) => setWhole(!event.target.checked)} /> Only lines that differ, with context
        </label>
        <Segments label="View" options={VIEWS} value={view} onChange={setView} />
      </div>
      <TaskDiff before={textOfTask(left.data)} after={textOfTask(right.data)} fields={null} names={[row.slug, row.other]} view={view} whole={whole} onWhole={() => setWhole(true)} />
    </>
  );
}
