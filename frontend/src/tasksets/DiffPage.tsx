/** `/tasksets/{id}/diff/{a}..{b}`: which tasks differ between two versions, and one of them opened. `?task=`, `?kind=`, `?q=`, `?view=`
 * and `?all=1` are the whole state, so any of it can be linked. */
import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { diffQuery, diffTaskQuery, tagsQuery, tasksetQuery, versionsQuery } from "../api/queries";
import type { DiffKind, DiffPage as Changes, DiffRow, TasksetOut } from "../api/types";
import { NotFound } from "../shell/Errors";
import { Load } from "../shell/Load";
import { Digest } from "../ui/Copy";
import { count } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { useKeys } from "../ui/keys";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { PageHead } from "../ui/Page";
import { Time } from "../ui/Time";
import { useAddress } from "../ui/useAddress";
import { useRows } from "../ui/useRows";
import type { TableHandle } from "../ui/VirtualTable";
import { ChangeList } from "./ChangeList";
import { MARK, rowInWords } from "./changes";
import { diffPath, taskPath } from "./paths";
import { RunChanged } from "./RunChanged";
import { TaskDiff, usualView, VIEWS } from "./TaskDiff";
import type { View } from "./TaskDiff";
import { textOfTask } from "./taskText";
import { ViewChoice } from "./ViewChoice";

interface Pair {
  from: string;
  to: string;
}

export default function DiffPage() {
  const { ref = "", pair = "" } = useParams();
  const set = useQuery(tasksetQuery(ref));
  const [from, to] = pair.split("..");
  if (!from || !to) return <NotFound />;
  if (!set.data) return <Load what="taskset" error={set.error} retry={() => void set.refetch()} />;
  return <Known set={set.data} pair={{ from, to }} />;
}

function useShown() {
  const [params, put, latest] = useAddress();
  const view = VIEWS.find(([name]) => name === params.get("view"))?.[0] ?? usualView();
  return { kind: params.get("kind") ?? "", q: params.get("q") ?? "", task: params.get("task"), view: view as View, whole: params.get("all") === "1", put, latest };
}
type Shown = ReturnType<typeof useShown>;

function Known({ set, pair }: { set: TasksetOut; pair: Pair }) {
  const shown = useShown();
  const changes = useRows(diffQuery(set.id, pair.from, pair.to, { kind: shown.kind, q: shown.q, limit: 200 }));
  const { rows, first } = changes;
  const list = useRef<TableHandle>(null);
  const slug = shown.task ?? rows[0]?.slug ?? null;
  const at = rows.findIndex((row) => row.slug === slug);
  const go = (to: number) => {
    const row = rows[to];
    if (!row) return;
    shown.put({ task: row.slug });
    list.current?.scrollTo(to);
  };
  /** From the task that was asked for last, which may not be drawn yet. */
  const move = (by: number) => {
    const task = shown.latest().get("task") ?? rows[0]?.slug;
    go(rows.findIndex((row) => row.slug === task) + by);
  };
  const nextView = () => {
    const view = shown.latest().get("view") ?? shown.view;
    return VIEWS[(VIEWS.findIndex(([name]) => name === view) + 1) % VIEWS.length]?.[0] ?? "split";
  };
  useKeys("Changes", [
    { keys: "j", what: "Next changed task", run: () => move(1) },
    { keys: "k", what: "Changed task before", run: () => move(-1) },
    { keys: "v", what: "Next view: fields, side by side, unified", run: () => shown.put({ view: nextView() }) },
  ]);
  const names = [nameOf(first?.from, pair.from), nameOf(first?.to, pair.to)] as const;
  return (
    <main id="main" className="page fill">
      <PageHead
        title="Changes"
        fullTitle={`${names[0]} to ${names[1]}`}
        trail={[{ to: "/tasksets", text: "Tasksets" }, { to: `/tasksets/${set.id}`, text: set.title }]}
        state={<Pickers set={set} pair={pair} />}
        meta={first?.to && <Facts to={first.to} />}
        actions={
          <>
            {first && <RunChanged set={set} changes={first} pair={pair} />}
            <Link className="btn" to={`/tasksets/${set.id}/versions`}>
              All versions
            </Link>
          </>
        }
      />
      {first && <Counts changes={first} shown={shown} />}
      {changes.error ? (
        <Failed what="Could not compare" error={changes.error} retry={changes.retry} />
      ) : changes.loading ? (
        <Skeleton />
      ) : first && isEqual(first) ? (
        <Empty title={`${names[0]} and ${names[1]} are equal`}>Both have the digest {first.to?.digest.slice(0, 19)}.</Empty>
      ) : (
        <div className="changes">
          <ChangeList
            ref={list}
            changes={rows.map((row) => ({ slug: row.slug, kind: row.kind, words: rowInWords(row) }))}
            slug={slug}
            onOpen={(task) => shown.put({ task })}
            q={shown.q}
            onSearch={(q) => shown.put({ q, task: "" })}
            more={changes.more}
            loadingMore={changes.loadingMore}
          />
          {slug === null ? <Empty title="No change matches" /> : <One key={slug} set={set} pair={pair} slug={slug} shown={shown} place={at < 0 ? "" : `${count(at + 1)} of ${count(totalOf(first, shown, rows))}`} names={names} />}
        </div>
      )}
    </main>
  );
}

const nameOf = (version: { number: number } | null | undefined, given: string) => (version ? `v${version.number}` : given);
const isEqual = ({ counts }: Changes) => counts.added + counts.removed + counts.moved + counts.changed === 0;
const totalOf = (first: Changes | undefined, shown: Shown, rows: DiffRow[]) =>
  !first || shown.q ? rows.length : (["added", "removed", "moved", "changed"] as const).filter((kind) => !shown.kind || shown.kind.split(",").includes(kind)).reduce((sum, kind) => sum + first.counts[kind], 0);

function Facts({ to }: { to: NonNullable<Changes["to"]> }) {
  return (
    <>
      {to.message && <span>{to.message}</span>}
      <span>
        <Icon name="user" /> {to.author ?? "system"}, <Time at={to.created_at} />
      </span>
      <Digest value={to.digest} what="version digest" />
    </>
  );
}

function Pickers({ set, pair }: { set: TasksetOut; pair: Pair }) {
  const navigate = useNavigate();
  const versions = useRows(versionsQuery(set.id)).rows.map((version) => String(version.number));
  const tags = useRows(tagsQuery(set.id)).rows;
  const pick = (from: string, to: string) => void navigate(diffPath(set, from, to), { replace: true });
  const options = [...tags.map((tag) => [tag.name, `${tag.name} (v${tag.version_number})`] as const), ...versions.map((number) => [number, `v${number}`] as const)];
  const picker = (label: string, value: string, onPick: (value: string) => void) => (
    <select className="box w-auto!" aria-label={label} value={value} onChange={(event) => onPick(event.target.value)}>
      {!options.some(([name]) => name === value) && <option value={value}>{value}</option>}
      {options.map(([name, text]) => (
        <option key={name} value={name}>
          {text}
        </option>
      ))}
    </select>
  );
  return (
    <span className="flex items-center gap-2">
      {picker("From version", pair.from, (from) => pick(from, pair.to))}
      <span aria-hidden="true">→</span>
      {picker("To version", pair.to, (to) => pick(pair.from, to))}
      <button type="button" className="btn ghost" onClick={() => pick(pair.to, pair.from)}>
        Swap
      </button>
    </span>
  );
}

/** Counts that filter: pressed are those shown; none pressed shows all. */
function Counts({ changes, shown }: { changes: Changes; shown: Shown }) {
  const wanted = shown.kind.split(",").filter(Boolean);
  const flip = (kind: DiffKind) => shown.put({ kind: (wanted.includes(kind) ? wanted.filter((one) => one !== kind) : [...wanted, kind]).join(","), task: "" });
  return (
    <div className="flex flex-wrap items-center gap-2 border-t border-line bg-canvas px-6 py-2 max-md:px-4" role="group" aria-label="Kinds of change">
      <b className="mr-2 font-semibold tnum">
        {count(changes.from?.task_count ?? 0)} → {count(changes.to?.task_count ?? 0)} tasks
      </b>
      {(["added", "removed", "changed", "moved"] as const).map((kind) => (
        <button key={kind} type="button" className="chip inline-flex items-center gap-1.5" aria-pressed={wanted.includes(kind)} disabled={changes.counts[kind] === 0} onClick={() => flip(kind)}>
          <span className={`dm ${MARK[kind].className}`} aria-hidden="true">
            {MARK[kind].sign}
          </span>
          {count(changes.counts[kind])} {kind}
        </button>
      ))}
      <span className="text-12 text-text-2 tnum">{count(changes.counts.unchanged)} unchanged</span>
    </div>
  );
}

function One({ set, pair, slug, shown, place, names }: { set: TasksetOut; pair: Pair; slug: string; shown: Shown; place: string; names: readonly [string, string] }) {
  const task = useQuery(diffTaskQuery(set.id, pair.from, pair.to, slug));
  const { before, after } = task.data ?? { before: null, after: null };
  const there = after ?? before;
  return (
    <section className="one" aria-label={slug}>
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1 px-4 py-2">
        <h2 className="mono">{slug}</h2>
        <span className="text-12 text-text-2 tnum">{place}</span>
        <span className="grow" />
        <ViewChoice view={shown.view} whole={shown.whole} put={shown.put} />
        {there && (
          <Link className="btn" to={taskPath(set, slug, there.version_number)}>
            Open task
          </Link>
        )}
      </div>
      {task.data && <Noted task={task.data} />}
      {task.error ? (
        <Failed what={`Could not compare ${slug}`} error={task.error} retry={() => void task.refetch()} />
      ) : task.data ? (
        <TaskDiff
          before={before && textOfTask(before)}
          after={after && textOfTask(after)}
          fields={before && after ? task.data.fields : null}
          names={names}
          view={shown.view}
          whole={shown.whole}
          onWhole={() => shown.put({ all: "1" })}
        />
      ) : (
        <Skeleton />
      )}
    </section>
  );
}

/** The places that changed and what to know of them: a type that became another, a place that is new. */
function Noted({ task }: { task: { kind: string; fields: { path: string; kind: string; note: string | null }[] } }) {
  if (task.kind === "unchanged") return <p className="px-4 pb-2 text-12 text-text-2">Its content is the same in both; only its place changed.</p>;
  if (task.fields.length === 0) return null;
  return (
    <p className="flex flex-wrap items-center gap-x-2 gap-y-1 px-4 pb-2 text-12 text-text-2">
      {task.fields.slice(0, 12).map((field) => (
        <span key={field.path} className="inline-flex items-center gap-1.5">
          <span className="tag line mono">{field.path}</span>
          {field.note ?? (field.kind === "changed" ? "" : field.kind === "added" ? "new" : "gone")}
        </span>
      ))}
      {task.fields.length > 12 && <span>and {count(task.fields.length - 12)} more</span>}
    </p>
  );
}
