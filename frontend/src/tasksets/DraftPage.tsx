/** `/tasksets/{id}/draft`: the person's edits against the version they started from, and against a head that moved meanwhile: mine or
 * theirs for each task that both changed. What was decided is kept in this browser until the commit. */
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { draftQuery, taskQuery, tasksetQuery } from "../api/queries";
import type { DraftChange, DraftConflict, DraftOut, TasksetOut } from "../api/types";
import { Load } from "../shell/Load";
import { count, plural } from "../ui/formats";
import { useKeys } from "../ui/keys";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { PageHead } from "../ui/Page";
import { Segments } from "../ui/Segments";
import { Time } from "../ui/Time";
import { useAddress } from "../ui/useAddress";
import type { TableHandle } from "../ui/VirtualTable";
import { draftInWords, holdsEdits, kindOfChange, MARK } from "./changes";
import { ChangeList } from "./ChangeList";
import { CommitDialog } from "./CommitDialog";
import type { Decisions } from "./decisions";
import { openConflicts, UNDECIDED } from "./decisions";
import { useTaskEdit } from "./draft";
import { DiscardDialog } from "./DraftBar";
import { editPath } from "./paths";
import type { View } from "./TaskDiff";
import { TaskDiff, usualView } from "./TaskDiff";
import { textOfRow, textOfTask } from "./taskText";
import { ViewChoice } from "./ViewChoice";

const LINE_VIEWS = [
  ["split", "Side by side"],
  ["unified", "Unified"],
] as const;

const viewOf = (params: URLSearchParams): View => LINE_VIEWS.find(([name]) => name === params.get("view"))?.[0] ?? usualView();

export default function DraftPage() {
  const { ref = "" } = useParams();
  const set = useQuery(tasksetQuery(ref));
  const draft = useQuery({ ...draftQuery(set.data?.id ?? ""), enabled: set.isSuccess });
  if (!set.data || draft.data === undefined) return <Load what="draft" error={set.error ?? draft.error} retry={() => void (set.error ? set : draft).refetch()} />;
  return <Known set={set.data} draft={draft.data} />;
}

function Known({ set, draft }: { set: TasksetOut; draft: DraftOut | null }) {
  const [asking, ask] = useState<"commit" | "discard" | null>(null);
  const [decisions, decide] = useDecisions(set.id);
  const navigate = useNavigate();
  const there = holdsEdits(draft);
  const done = () => {
    decide(null);
    void navigate(`/tasksets/${set.id}/versions`);
  };
  useKeys("Draft", there ? [{ keys: "mod+Enter", what: "Commit the draft…", run: () => ask((now) => now ?? "commit") }] : []);
  const open = draft ? openConflicts(draft, decisions) : 0;
  return (
    <main id="main" className="page fill">
      <PageHead
        title="Draft"
        fullTitle={`Draft of ${set.title}`}
        trail={[{ to: "/tasksets", text: "Tasksets" }, { to: `/tasksets/${set.id}`, text: set.title }]}
        state={there && <span className="tag acc">on v{draft.base_number ?? 0}</span>}
        meta={
          there && (
            <>
              <span>{draftInWords(draft)}</span>
              <span className="block!">
                saved <Time at={draft.saved_at} />, only you see it
              </span>
              {draft.base_number !== draft.head_number && <span>the head is v{draft.head_number} now</span>}
            </>
          )
        }
        actions={
          there && (
            <>
              <button type="button" className="btn" onClick={() => ask("discard")}>
                Discard…
              </button>
              <button type="button" className="btn pri" onClick={() => ask("commit")}>
                Commit v{(draft.head_number ?? 0) + 1}…
              </button>
            </>
          )
        }
      />
      {open > 0 && (
        <div className="banner warn flex-wrap" role="status">
          <span>{plural(open, "task was", "tasks were")} changed by others too. Choose mine or theirs for each, then commit.</span>
          <span className="grow" />
          <button type="button" className="btn" onClick={() => decide({ ...decisions, others: "theirs" })}>
            Take theirs for all
          </button>
          <button type="button" className="btn" onClick={() => decide({ ...decisions, others: "mine" })}>
            Keep mine for all
          </button>
        </div>
      )}
      {there ? (
        <Changes set={set} draft={draft} decisions={decisions} decide={decide} />
      ) : (
        <Empty title="No draft" action={<Link className="btn" to={`/tasksets/${set.id}`}>Open the tasks</Link>}>
          Edits of tasks gather here until they are committed as one version.
        </Empty>
      )}
      {asking === "commit" && <CommitDialog set={set} decisions={decisions} onClose={() => ask(null)} onDone={done} />}
      {asking === "discard" && draft && <DiscardDialog set={set} about={draftInWords(draft)} onClose={() => ask(null)} onDone={() => decide(null)} />}
    </main>
  );
}

/** Null forgets them. */
type Decide = (next: Decisions | null) => void;

function useDecisions(set: string): [Decisions, Decide] {
  const key = `proctor.decisions.${set}`;
  const [decisions, keep] = useState<Decisions>(() => ({ ...UNDECIDED, ...(JSON.parse(localStorage.getItem(key) ?? "{}") as Partial<Decisions>) }));
  const decide: Decide = (next) => {
    if (next) localStorage.setItem(key, JSON.stringify(next));
    else localStorage.removeItem(key);
    keep(next ?? UNDECIDED);
  };
  return [decisions, decide];
}

function Changes({ set, draft, decisions, decide }: { set: TasksetOut; draft: DraftOut; decisions: Decisions; decide: Decide }) {
  const [params, put, latest] = useAddress();
  const list = useRef<TableHandle>(null);
  const q = params.get("q") ?? "";
  const conflicts = new Map(draft.conflicts.map((one) => [one.slug, one]));
  const rows = draft.changes.filter((change) => change.slug.toLowerCase().includes(q.toLowerCase())).toSorted((a, b) => Number(conflicts.has(b.slug)) - Number(conflicts.has(a.slug)));
  const placeOf = (from: URLSearchParams) => Math.max(0, rows.findIndex((row) => row.slug === from.get("task")));
  const at = placeOf(params);
  const change = rows[at];
  const go = (to: number) => {
    const row = rows[to];
    if (!row) return;
    put({ task: row.slug });
    list.current?.scrollTo(to);
  };
  const choose = (side: "mine" | "theirs") => {
    if (!change || !conflicts.has(change.slug)) return;
    decide({ ...decisions, resolve: { ...decisions.resolve, [change.slug]: side } });
    go(at + 1);
  };
  useKeys("Changes", [
    { keys: "j", what: "Next change", run: () => go(placeOf(latest()) + 1) },
    { keys: "k", what: "Change before", run: () => go(placeOf(latest()) - 1) },
    { keys: "v", what: "Other view", run: () => put({ view: viewOf(latest()) === "unified" ? "split" : "unified" }) },
    { keys: "a", what: "Accept theirs, in a conflict", run: () => choose("theirs") },
    { keys: "m", what: "Keep mine, in a conflict", run: () => choose("mine") },
  ]);
  const choiceOf = (slug: string) => decisions.resolve[slug] ?? decisions.others ?? undefined;
  const listed = rows.map((row) => ({ slug: row.slug, kind: kindOfChange(row), words: wordsOf(row), ...(conflicts.has(row.slug) ? { conflict: choiceOf(row.slug) ? ("decided" as const) : ("open" as const) } : {}) }));
  const all = draft.changed + draft.added + draft.removed + draft.moved;
  return (
    <div className="changes">
      <ChangeList ref={list} note={all > draft.changes.length ? `The first ${count(draft.changes.length)} of ${count(all)} are listed.` : ""} changes={listed} slug={change?.slug ?? null} onOpen={(task) => put({ task })} q={q} onSearch={(text) => put({ q: text, task: "" })} />
      {change ? (
        <One key={change.slug} set={set} draft={draft} change={change} conflict={conflicts.get(change.slug)} choice={choiceOf(change.slug)} choose={choose} place={`${count(at + 1)} of ${count(q ? rows.length : all)}`} />
      ) : (
        <Empty title="No change matches" />
      )}
    </div>
  );
}

const wordsOf = (change: DraftChange) => (change.position === null ? MARK[kindOfChange(change)].word : `${MARK[kindOfChange(change)].word}, to place ${change.position + 1}`);

interface OneProps {
  set: TasksetOut;
  draft: DraftOut;
  change: DraftChange;
  conflict: DraftConflict | undefined;
  choice: "mine" | "theirs" | undefined;
  choose: (side: "mine" | "theirs") => void;
  place: string;
}

function One({ set, draft, change, conflict, choice, choose, place }: OneProps) {
  const [params, put] = useAddress();
  const view = viewOf(params);
  const editing = useTaskEdit(set);
  const forget = () => editing.mutate({ change: { op: "reset", slug: change.slug }, said: `${change.slug} is out of the draft` });
  return (
    <section className="one" aria-label={change.slug}>
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1 px-4 py-2">
        <h2 className="mono">{change.slug}</h2>
        <span className="text-12 text-text-2 tnum">{place}</span>
        <span className="grow" />
        <ViewChoice views={LINE_VIEWS} view={view} whole={params.get("all") === "1"} put={put} />
        {change.op !== "remove" && (
          <Link className="btn" to={editPath(set, change.slug)}>
            Edit
          </Link>
        )}
        <button type="button" className="btn" disabled={editing.isPending} onClick={forget}>
          Forget this change
        </button>
      </div>
      {editing.error && <Failed what="Could not change the draft" error={editing.error} />}
      {conflict ? <Clash conflict={conflict} choice={choice} choose={choose} view={view} /> : <Against set={set} draft={draft} change={change} view={view} />}
    </section>
  );
}

/** My change against the version that the draft started from. */
function Against({ set, draft, change, view }: { set: TasksetOut; draft: DraftOut; change: DraftChange; view: View }) {
  const [params, put] = useAddress();
  const isNew = change.op === "add";
  const base = useQuery({ ...taskQuery(`${set.name}@${draft.base_number ?? 0}`, change.slug), enabled: !isNew });
  if (base.error) return <Failed what="Could not load the task" error={base.error} retry={() => void base.refetch()} />;
  if (!isNew && !base.data) return <Skeleton />;
  if (change.op === "set" && change.text === null) return <Empty title={`Moves from place ${(base.data?.position ?? 0) + 1} to ${(change.position ?? 0) + 1}`}>Its content stays.</Empty>;
  const before = base.data ? textOfTask(base.data) : null;
  const after = change.text === null ? null : textOfRow(change.text);
  return <TaskDiff before={before} after={after} fields={null} names={[`v${draft.base_number ?? 0}`, "Draft"]} view={view} whole={params.get("all") === "1"} onWhole={() => put({ all: "1" })} />;
}

const PAIRS = [
  ["theirs-mine", "Theirs, mine"],
  ["base-mine", "Base, mine"],
  ["base-theirs", "Base, theirs"],
] as const;
const SIDE = { base: "Base", mine: "Mine", theirs: "Theirs" } as const;

function Clash({ conflict, choice, choose, view }: { conflict: DraftConflict; choice: "mine" | "theirs" | undefined; choose: (side: "mine" | "theirs") => void; view: View }) {
  const [params, put] = useAddress();
  const pair = PAIRS.find(([name]) => name === params.get("pair"))?.[0] ?? "theirs-mine";
  const [left, right] = pair.split("-") as [keyof typeof SIDE, keyof typeof SIDE];
  const text = (side: keyof typeof SIDE) => (conflict[side] === null ? null : textOfRow(conflict[side]));
  const name = (side: keyof typeof SIDE) => (conflict[side] === null ? `${SIDE[side]}: not there` : SIDE[side]);
  return (
    <>
      <div className="flex flex-wrap items-center gap-2 px-4 pb-2">
        <Segments label="Sides" options={PAIRS} value={pair} onChange={(next) => put({ pair: next })} />
        <span className="grow" />
        <button type="button" className="btn" aria-pressed={choice === "theirs"} onClick={() => choose("theirs")}>
          Take theirs <kbd>a</kbd>
        </button>
        <button type="button" className="btn" aria-pressed={choice === "mine"} onClick={() => choose("mine")}>
          Keep mine <kbd>m</kbd>
        </button>
        <span className="text-12 text-text-2" role="status">
          {choice === undefined ? "not decided" : choice === "mine" ? "mine is kept" : "theirs is taken"}
        </span>
      </div>
      <TaskDiff before={text(left)} after={text(right)} fields={null} names={[name(left), name(right)]} view={view} whole={params.get("all") === "1"} onWhole={() => put({ all: "1" })} />
    </>
  );
}
