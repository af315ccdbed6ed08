/** Start a job, on one page: which tasks, which agent, how often, within which limits. The server plans it while the form is filled:
 * how many runs, where they will run, and each problem at its field. `⌘↵` starts. */
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import type { ReactNode } from "react";
import { Link, useLocation, useNavigate, useSearchParams } from "react-router";
import { api, ApiError } from "../api/client";
import { modelsQuery, tasksetQuery, tasksetsQuery, tasksQuery } from "../api/queries";
import type { JobIn, JobOut, Page, PlanOut, Problem, TaskRow } from "../api/types";
import { Command } from "../ui/Copy";
import type { Question } from "../tasksets/table/question";
import { isNarrowed, pairs, questionInWords, readQuestion } from "../tasksets/table/question";
import { count, plural } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { shownKeys, useKeys } from "../ui/keys";
import { Failed } from "../ui/Notices";
import { PageHead } from "../ui/Page";
import { Segments } from "../ui/Segments";
import { State } from "../ui/State";
import { useRows } from "../ui/useRows";
import type { Draft, Loop } from "./draft";
import { fieldOf, jobOf, LOOPS } from "./draft";

const AGENTS = [
  ["openai_compatible", "Model"],
  ["replay", "Replay"],
  ["noop", "No-op"],
  ["task_app", "Task App"],
] as const;

const ABOUT: Record<Draft["agent"], string> = {
  openai_compatible: "A model with the environment's tools, at a model endpoint of this team.",
  replay: "Gives recorded answers, from a column of the task or a list by slug. Needs no model.",
  noop: "Answers with nothing. Shows what an environment gives for no work.",
  task_app: "The policy inside a Task App, for tasks that were pulled from one.",
};

export default function StartJob() {
  const [params, setParams] = useSearchParams();
  const { state } = useLocation();
  const navigate = useNavigate();
  const reference = params.get("taskset") ?? "";
  const question = useMemo(() => readQuestion(params), [params]);
  const narrowed = isNarrowed(question);
  const given = (state as { slugs?: string[] } | null)?.slugs;
  const slugs = useMemo(() => given ?? params.getAll("slug"), [given, params]);
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const matching = useMatching(reference, question);
  const only = slugs.length > 0 ? slugs : narrowed ? (matching.data ?? null) : undefined;
  const column = useAnswerColumn(reference);
  const job = useMemo(() => jobOf({ ...draft, column: draft.column || column }, reference, only ?? undefined), [draft, column, reference, only]);
  const ready = reference !== "" && only !== null && job.error === null;
  const settled = useSettled(job.body, 350);
  const plan = useQuery({
    queryKey: ["plan", settled],
    queryFn: ({ signal }) => api<PlanOut>("/api/jobs/plan", { method: "POST", body: settled, signal, repeatable: true }),
    enabled: ready && settled !== null,
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 0,
  });
  const [key] = useState(() => crypto.randomUUID?.() ?? `page-${Date.now()}-${Math.random()}`);
  const start = useMutation({
    mutationFn: (body: JobIn) => api<JobOut>("/api/jobs", { method: "POST", body: { ...body, idempotency_key: key }, repeatable: true }),
    onSuccess: (made) => void navigate(`/jobs/${made.id}`),
  });
  const problems = [...(plan.data?.problems ?? problemsOf(plan.error)), ...problemsOf(start.error)];
  const blocked = !ready || start.isPending || (plan.data?.problems.length ?? 0) > 0;
  const submit = () => {
    if (!blocked && job.body) start.mutate(job.body);
  };
  useKeys("New job", [{ keys: "mod+Enter", what: "Start the job", typing: true, run: submit }]);
  const at = (field: string) => problems.filter((problem) => fieldOf(problem.path) === field);
  return (
    <main id="main" className="page bg-surface">
      <PageHead title="New job" trail={[{ to: "/jobs", text: "Jobs" }]} meta={<span>Every task times its repeats, each in a fresh environment.</span>} />
      <form
        className="grid max-w-[760px] gap-5 px-6 pb-8 max-md:px-4"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <Section title="Tasks" problems={at("taskset")}>
          <TasksField reference={reference} question={question} slugs={slugs} matching={only?.length} onPick={(name) => setParams(name ? { taskset: name } : {})} />
        </Section>
        <Section title="Agent" problems={at("agent")}>
          <Segments label="Agent type" options={AGENTS} value={draft.agent} onChange={(agent) => change({ agent })} />
          <p className="text-12 text-text-3">{ABOUT[draft.agent]}</p>
          {draft.agent === "openai_compatible" && <ModelFields draft={draft} change={change} />}
          {draft.agent === "task_app" && <TaskAppFields draft={draft} change={change} />}
          {draft.agent === "replay" && <ReplayFields draft={draft} change={change} column={column} />}
        </Section>
        <Section title="Repeats and limits" problems={at("limits")}>
          <div className="grid grid-cols-4 gap-3 max-md:grid-cols-2">
            <Numeric label="Repeats of each task" value={draft.group} onChange={(group) => change({ group })} min={1} max={1000} />
            <Numeric label="Runs at once" value={draft.concurrent} onChange={(concurrent) => change({ concurrent })} min={1} max={10_000} placeholder="all slots" />
            <Numeric label="Seconds for one run" value={draft.timeout} onChange={(timeout) => change({ timeout })} min={1} max={86_400} placeholder="3600" />
            {draft.agent === "openai_compatible" && <Numeric label="Most steps" value={draft.maxSteps} onChange={(maxSteps) => change({ maxSteps })} min={1} max={10_000} placeholder="agent's own" />}
          </div>
          <label className="grid gap-1 font-medium">
            Name of the job
            <input className="box" maxLength={255} value={draft.name} placeholder="made from taskset and agent" onChange={(event) => change({ name: event.target.value })} />
          </label>
        </Section>
        <PlanLine reference={reference} missing={job.error} plan={plan.data ?? null} stale={plan.isPlaceholderData || plan.isFetching} waiting={only === null} />
        {at("").length > 0 && <FieldErrors problems={at("")} />}
        {plan.error && problemsOf(plan.error).length === 0 && <Failed what="Could not plan the job" error={plan.error} retry={() => void plan.refetch()} />}
        {start.error && problemsOf(start.error).length === 0 && <Failed what="Could not start the job" error={start.error} />}
        <div className="flex flex-wrap items-center gap-2">
          <button type="submit" className="btn pri" disabled={blocked}>
            <Icon name="play" /> {plan.data && plan.data.problems.length === 0 ? `Start ${plural(plan.data.runs, "run")}` : "Start job"} <kbd>{shownKeys("mod+Enter")}</kbd>
          </button>
          <Link className="btn" to="/jobs">
            Cancel
          </Link>
        </div>
        {job.body && <CodeOf body={job.body} />}
      </form>
    </main>
  );
}

const EMPTY: Draft = { agent: "openai_compatible", loop: "openai_compatible", mode: "eval", policy: "", model: "", config: "", replay: "column", column: "", answers: "", group: "1", concurrent: "", timeout: "", maxSteps: "", name: "" };

const problemsOf = (error: unknown): Problem[] => (error instanceof ApiError ? error.problems : []);

/** The same value, once it has not changed for a moment: the plan is not asked for at every key. */
function useSettled<T>(value: T, ms: number): T {
  const [settled, settle] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => settle(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

/** All slugs that match a search and filters, read page by page. */
function useMatching(reference: string, question: Question) {
  const asked = pairs({ ...question, sorts: [] });
  return useQuery({
    queryKey: ["tasksets", "slugs", reference, asked],
    enabled: isNarrowed(question) && reference !== "",
    queryFn: async ({ signal }) => {
      const found: string[] = [];
      let cursor: string | null = null;
      do {
        const query = new URLSearchParams([...asked, ["limit", "1000"], ...(cursor ? [["cursor", cursor]] : [])]).toString();
        const page: Page<TaskRow> = await api(`/api/tasksets/${encodeURIComponent(reference)}/tasks?${query}`, { signal });
        found.push(...page.items.map((task) => task.slug));
        cursor = page.next_cursor;
      } while (cursor);
      return found;
    },
  });
}

/** A column that looks like recorded answers, offered for replay. */
function useAnswerColumn(reference: string): string {
  const first = useRows(tasksQuery(reference, { limit: 1 }), { enabled: reference !== "" }).rows[0];
  if (!first?.columns) return "";
  const names = Object.keys(JSON.parse(first.columns) as object);
  return names.find((name) => /replay|record|solution|answer|reply/i.test(name)) ?? "";
}

function Section({ title, problems, children }: { title: string; problems: Problem[]; children: ReactNode }) {
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-2 text-14 font-semibold">{title}</legend>
      {children}
      <FieldErrors problems={problems} />
    </fieldset>
  );
}

/** The rule as a sentence, with what was given when the rule does not say it already. */
function sentenceOf({ rule, value }: Problem): string {
  const said = `${rule.charAt(0).toUpperCase()}${rule.slice(1)}`;
  return value && !rule.includes(value) ? `${said.replace(/\.$/, "")}. Given: ${value}` : said;
}

function FieldErrors({ problems }: { problems: Problem[] }) {
  return (
    <div role="alert" className="grid gap-1 empty:hidden">
      {problems.map((problem, index) => (
        <FieldError key={index}>
          {sentenceOf(problem)}
        </FieldError>
      ))}
    </div>
  );
}

const FieldError = ({ children }: { children: ReactNode }) => <p className="text-12 text-bad [overflow-wrap:anywhere]">{children}</p>;

function TasksField({ reference, question, slugs, matching, onPick }: { reference: string; question: Question; slugs: string[]; matching: number | undefined; onPick: (name: string) => void }) {
  const set = useQuery({ ...tasksetQuery(reference), enabled: reference !== "" });
  const sets = useRows(tasksetsQuery({ limit: 200 }));
  const head = set.data?.head;
  const narrowed = isNarrowed(question);
  const names = sets.rows.map((each) => each.name);
  const name = reference.split("@")[0] ?? "";
  return (
    <div className="grid gap-2">
      <label className="grid gap-1 font-medium">
        Taskset
        <select className="box" value={set.data?.name ?? name} onChange={(event) => onPick(event.target.value)}>
          <option value="">Choose a taskset</option>
          {set.data && !names.includes(set.data.name) && <option value={set.data.name}>{set.data.title}</option>}
          {sets.rows.map((each) => (
            <option key={each.id} value={each.name}>
              {each.title}, {count(each.head?.task_count ?? 0)} tasks
            </option>
          ))}
        </select>
      </label>
      {set.error && <FieldError>{set.error.message}</FieldError>}
      {head && (
        <p className="flex flex-wrap items-center gap-2 text-text-2" data-testid="which-tasks">
          <span className="tag acc">v{head.number}</span>
          {slugs.length > 0 ? `${plural(slugs.length, "selected task")} of ${count(head.task_count)}` : narrowed ? `${matching === undefined ? "…" : count(matching)} of ${count(head.task_count)} tasks match ${questionInWords(question)}` : `All ${plural(head.task_count, "task")}`}
          {(slugs.length > 0 || narrowed) && (
            <button type="button" className="btn ghost" onClick={() => onPick(reference)}>
              Take all instead
            </button>
          )}
        </p>
      )}
    </div>
  );
}

interface FieldsProps {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
}

function ModelFields({ draft, change }: FieldsProps) {
  const models = useRows(modelsQuery());
  const exact = models.rows.filter((model) => !model.pattern.includes("*"));
  return (
    <>
      <label className="grid gap-1 font-medium">
        Model
        <input className="box" list="model-names" required value={draft.model} placeholder="name of the model" onChange={(event) => change({ model: event.target.value })} />
        <datalist id="model-names">
          {exact.map((model) => (
            <option key={model.id} value={model.pattern} />
          ))}
        </datalist>
      </label>
      <p className="text-12 text-text-3">
        {models.rows.length === 0 && !models.loading ? (
          <>
            No model endpoint yet. <Link to="/models">Add one</Link>, or use Replay, which needs none.
          </>
        ) : (
          <>Served here: {models.rows.map((model) => model.pattern).join(", ")}</>
        )}
      </p>
      <label className="grid gap-1 font-medium">
        Agent loop
        <select className="box" value={draft.loop} onChange={(event) => change({ loop: event.target.value as Loop })}>
          {LOOPS.map(([loop, name]) => (
            <option key={loop} value={loop}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <details>
        <summary className="cursor-pointer text-12 text-text-2">More agent config, as JSON</summary>
        <textarea className="box mt-1" rows={4} aria-label="Agent config" value={draft.config} placeholder={'{"system_prompt": "…", "temperature": 0}'} onChange={(event) => change({ config: event.target.value })} />
      </details>
    </>
  );
}

function TaskAppFields({ draft, change }: FieldsProps) {
  return (
    <>
      <Segments
        label="Mode"
        options={[
          ["eval", "Evaluate"],
          ["rl", "Train"],
        ]}
        value={draft.mode}
        onChange={(mode) => change({ mode })}
      />
      <label className="grid gap-1 font-medium">
        Policy, as JSON
        <textarea className="box mono" rows={4} value={draft.policy} placeholder={'{"model": "…", "inference_url": "https://…/v1", "api_key": "…"}'} onChange={(event) => change({ policy: event.target.value })} />
      </label>
      <p className="text-12 text-text-3">Keys in it are kept encrypted and shown masked.</p>
    </>
  );
}

function ReplayFields({ draft, change, column }: FieldsProps & { column: string }) {
  return (
    <>
      <Segments
        label="Answers from"
        options={[
          ["column", "A column"],
          ["answers", "A list by slug"],
        ]}
        value={draft.replay}
        onChange={(replay) => change({ replay })}
      />
      {draft.replay === "column" ? (
        <label className="grid gap-1 font-medium">
          Column with the answers
          <input className="box" value={draft.column || column} placeholder="recorded" onChange={(event) => change({ column: event.target.value })} />
        </label>
      ) : (
        <label className="grid gap-1 font-medium">
          Answers
          <textarea className="box" rows={5} value={draft.answers} placeholder={'{"0000": "A: 18", "0001": "A: 3"}'} onChange={(event) => change({ answers: event.target.value })} />
        </label>
      )}
    </>
  );
}

function Numeric({ label, value, onChange, min, max, placeholder }: { label: string; value: string; onChange: (value: string) => void; min: number; max: number; placeholder?: string }) {
  return (
    <label className="grid content-end gap-1 font-medium">
      {label}
      <input className="box tnum" type="number" inputMode="numeric" min={min} max={max} step={1} value={value} placeholder={placeholder} onChange={(event) => onChange(event.target.value)} />
    </label>
  );
}

/** How much will run, and where; in plain words when without a container. */
function PlanLine({ reference, missing, plan, stale, waiting }: { reference: string; missing: string | null; plan: PlanOut | null; stale: boolean; waiting: boolean }) {
  if (!reference) return <p className="text-text-3">Choose a taskset to see how many runs this makes.</p>;
  if (missing) return <p role="status" className="text-text-2">{missing}</p>;
  if (waiting || !plan) return <p className="text-text-3">Counting the runs.</p>;
  const each = plan.tasks > 0 ? Math.round(plan.runs / plan.tasks) : 0;
  return (
    <div role="status" className={`grid gap-1 rounded-3 border border-line bg-canvas px-4 py-3 ${stale ? "text-text-2" : ""}`} data-testid="plan">
      <p className="tnum">
        {plural(plan.tasks, "task")} × {count(each)} = <b className="font-semibold">{plural(plan.runs, "run")}</b>
      </p>
      <p className="flex flex-wrap items-center gap-2 text-text-2">
        {plan.sandbox === "subprocess" ? <span className="tag bad">unsandboxed</span> : plan.sandbox === null ? <State kind="warn">no worker</State> : <span className="tag">{plan.sandbox}</span>}
        {plan.sandbox_note || where(plan.sandbox)}
      </p>
    </div>
  );
}

function where(sandbox: string | null): string {
  if (sandbox === "remote") return "Each run happens in the Task App: no container of ours is started.";
  if (sandbox === "docker") return "Each run gets a container of its own.";
  if (sandbox === "subprocess") return "Each run is a plain process on the server, without a container. Only shipped samples can run so.";
  return "No worker is up: the runs wait in the queue until one is.";
}

function CodeOf({ body }: { body: JobIn }) {
  const text = JSON.stringify(body, null, 1);
  const name = body.taskset.split("@")[0] ?? "";
  return (
    <details>
      <summary className="cursor-pointer text-12 text-text-2">The same from code</summary>
      <div className="mt-2 grid gap-2">
        <Command label="REST" code={`curl -X POST ${location.origin}/api/jobs -H "Authorization: Bearer $HUD_API_KEY" \\\n  -H "Content-Type: application/json" -d '${text.replaceAll("'", "'\\''")}'`} />
        {LOOPS.some(([loop]) => loop === body.agent.type) && <Command label="hud command" code={`hud eval ${name} ${body.agent.type} --model ${String(body.agent.config?.["model"] ?? "MODEL")} --full --group-size ${body.group ?? 1}`} />}
      </div>
    </details>
  );
}
