/** `/tasksets/{id}/edit?slug=`: one task as a form beside its raw JSON; without a slug a new task, with `?copy=` one that starts as a
 * copy. Saved into the draft (`⌘S`), or committed (`⌘↵`). What is drafted already is what one goes on with. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useBlocker, useNavigate, useParams, useSearchParams } from "react-router";
import { ApiError } from "../api/client";
import { draftQuery, taskQuery, tasksetQuery } from "../api/queries";
import type { DraftChange, DraftEdit, TaskOut, TasksetOut } from "../api/types";
import { Load } from "../shell/Load";
import { isJson, NotJson, spans } from "../ui/jsonSpans";
import { shownKeys, useKeys } from "../ui/keys";
import { Failed } from "../ui/Notices";
import { Confirm } from "../ui/Overlays";
import { PageHead } from "../ui/Page";
import { toast } from "../ui/toast";
import { CommitDialog } from "./CommitDialog";
import { useEditing } from "./draft";
import { editPath, taskPath } from "./paths";
import { TaskForm } from "./TaskForm";
import { laidOut, textOfRow, textOfTask } from "./taskText";

export default function EditPage() {
  const { ref = "" } = useParams();
  const [params] = useSearchParams();
  const [slug, copy] = [params.get("slug"), params.get("copy")];
  const from = slug ?? copy ?? "";
  const set = useQuery(tasksetQuery(ref));
  const id = set.data?.id ?? "";
  const task = useQuery({ ...taskQuery(id, from), enabled: set.isSuccess && from !== "", retry: false, gcTime: 0 });
  const draft = useQuery({ ...draftQuery(id, { slug: from }), enabled: set.isSuccess && from !== "", gcTime: 0 });
  const loading = from !== "" && (task.isPending || draft.isPending);
  if (!set.data || loading) return <Load what="task" error={set.error ?? draft.error} retry={() => void set.refetch()} />;
  const change = draft.data?.changes.find((one) => one.slug === from);
  if (from && !task.data && !change?.text) return <Load what="task" error={task.error} retry={() => void task.refetch()} />;
  return <Editor key={`${slug} ${copy}`} set={set.data} start={startOf(set.data, slug, task.data, change)} task={task.data} />;
}

/** What one starts from. `slug` is null for a task to be made. */
interface Start {
  slug: string | null;
  name: string;
  text: string;
  removed: boolean;
}

function startOf(set: TasksetOut, slug: string | null, task: TaskOut | undefined, change: DraftChange | undefined): Start {
  const text = change?.text ? textOfRow(change.text) : task ? textOfTask(task) : `{"env":${JSON.stringify(set.environments[0] ?? "")},"id":"","args":{}}`;
  const name = slug ?? (task ? `${task.slug}-copy` : "");
  return { slug, name, text: laidOut(text), removed: change?.op === "remove" };
}

function Editor({ set, start, task }: { set: TasksetOut; start: Start; task: TaskOut | undefined }) {
  const [saved, keep] = useState({ name: start.slug ?? "", text: start.slug === null ? "" : start.text });
  const [name, setName] = useState(start.name);
  const [text, setText] = useState(start.text);
  const [committing, commit] = useState(false);
  const navigate = useNavigate();
  const editing = useEditing(set);
  const dirty = name !== saved.name || text !== saved.text;
  const ready = isJson(text) && name.trim() !== "";
  const save = async () => {
    if (dirty || start.removed) {
      await editing.mutateAsync([editOf(start, name, text, task)]);
      keep({ name, text });
      toast(`${name} is in the draft`);
    }
    if (name !== start.slug) void navigate(editPath(set, name), { replace: true });
  };
  const saveAnd = (then: () => void) => {
    if (ready) void save().then(then, () => undefined);
  };
  useKeys("Editor", [
    { keys: "mod+s", what: "Save to the draft", typing: true, run: () => saveAnd(() => undefined) },
    { keys: "mod+Enter", what: "Commit…", typing: true, run: () => saveAnd(() => commit(true)) },
  ]);
  const problems = editing.error instanceof ApiError ? editing.error.problems : [];
  return (
    <main id="main" className="page fill">
      <PageHead
        title={start.slug ?? "New task"}
        fullTitle={start.slug === null ? "New task" : `Edit ${start.slug}`}
        trail={[{ to: "/tasksets", text: "Tasksets" }, { to: `/tasksets/${set.id}`, text: set.title }]}
        state={dirty && <span className="tag warn">not saved</span>}
        meta={start.removed && <span>The draft removes this task; saving keeps it.</span>}
      />
      <div className="grid min-h-0 grow border-t border-line md:grid-cols-2">
        <TaskForm name={name} onName={setName} text={text} onText={setText} problems={problems} />
        <Raw text={text} onText={setText} />
      </div>
      {editing.error && <Failed what="Could not save" error={editing.error} />}
      <div className="foot">
        <span className="desk text-12 text-text-2">Only what you touch changes: numbers and key order stay as they are.</span>
        <span className="grow" />
        <button type="button" className="btn ghost" onClick={() => void navigate(start.slug === null ? `/tasksets/${set.id}` : taskPath(set, start.slug))}>
          Close
        </button>
        <button type="button" className="btn" disabled={!ready || editing.isPending || !(dirty || start.removed)} onClick={() => saveAnd(() => undefined)}>
          Save to draft <kbd>{shownKeys("mod+s")}</kbd>
        </button>
        <button type="button" className="btn pri" disabled={!ready || editing.isPending} onClick={() => saveAnd(() => commit(true))}>
          Commit… <kbd>{shownKeys("mod+Enter")}</kbd>
        </button>
      </div>
      {committing && <CommitDialog set={set} onClose={() => commit(false)} onDone={() => void navigate(taskPath(set, name))} />}
      <AskBeforeLeaving dirty={dirty} name={name} />
    </main>
  );
}

function editOf(start: Start, name: string, text: string, task: TaskOut | undefined): DraftEdit {
  if (start.slug === null) return { op: "add", slug: name, text, position: task ? task.position + 1 : null };
  return { op: "set", slug: start.slug, text, new_slug: name === start.slug ? null : name };
}

function Raw({ text, onText }: { text: string; onText: (text: string) => void }) {
  const wrong = whatIsWrong(text);
  return (
    <section className="flex min-h-[320px] min-w-0 flex-col gap-2 border-l border-line p-4 max-md:border-l-0 max-md:border-t" aria-labelledby="raw">
      <div className="flex items-center gap-2">
        <h2 id="raw">Raw JSON</h2>
        <span className="grow" />
        <button type="button" className="btn ghost" disabled={wrong !== null} onClick={() => onText(laidOut(text))}>
          Tidy
        </button>
      </div>
      <textarea className="box min-h-0 grow resize-none" aria-label="Raw JSON of the task" aria-invalid={wrong !== null} aria-describedby="raw-wrong" spellCheck={false} value={text} onChange={(event) => onText(event.target.value)} />
      <p id="raw-wrong" role="status" className={wrong ? "text-bad" : "text-12 text-text-3"}>
        {wrong ?? "Reads as JSON."}
      </p>
    </section>
  );
}

function whatIsWrong(text: string): string | null {
  try {
    spans(text);
    return null;
  } catch (reason) {
    return reason instanceof NotJson ? reason.message : "Not JSON.";
  }
}

function AskBeforeLeaving({ dirty, name }: { dirty: boolean; name: string }) {
  const blocker = useBlocker(({ currentLocation, nextLocation }) => dirty && currentLocation.pathname !== nextLocation.pathname);
  useEffect(() => {
    if (!dirty) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [dirty]);
  if (blocker.state !== "blocked") return null;
  return <Confirm open onClose={() => blocker.reset()} title="Leave without saving?" about="What you changed is not in the draft yet." keep="Stay" verb={`Drop the changes of ${name || "the new task"}`} onConfirm={() => blocker.proceed()} />;
}
