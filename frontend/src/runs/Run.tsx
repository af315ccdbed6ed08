/** One run: what it did, where it went wrong, what it was given. Outline, transcript and panes share one position, which is in the URL. */
import { useMutation } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Link, useNavigate, useParams, useSearchParams } from "react-router";
import { api } from "../api/client";
import type { CancelOut, RunOut, Step } from "../api/types";
import type { RunView } from "../live/RunFeed";
import { useRunFeed } from "../live/hooks";
import { remember } from "../shell/preferences";
import { Load } from "../shell/Load";
import { Id } from "../ui/Copy";
import { count, money, reward, shortId } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { useKeys } from "../ui/keys";
import { Boundary, Empty, Failed } from "../ui/Notices";
import { Confirm } from "../ui/Overlays";
import { PageHead } from "../ui/Page";
import { Gauge, Mark } from "../ui/Reward";
import { State } from "../ui/State";
import { Age } from "../ui/Time";
import { toast } from "../ui/toast";
import { hud, rest, sdk, UseFromCode } from "../ui/UseFromCode";
import { Outline } from "./Outline";
import type { Pane } from "./RunPanes";
import { DetailsPane, GradePane, LogPane } from "./RunPanes";
import type { Read } from "./steps";
import { entriesOf, gradeOf, inOrder, readStep } from "./steps";
import { Transcript } from "./Transcript";
import { BLAME_LETTER, cellOf, runState, UNSANDBOXED } from "./words";

export default function Run() {
  const { id = "" } = useParams();
  const [params] = useSearchParams();
  const attempt = Number(params.get("attempt")) || null;
  const { view, error, feed } = useRunFeed(id, attempt);
  if (!view || view.run.id !== id) return <Load what="run" error={error} retry={() => void feed.load()} />;
  return <Known key={id} view={view} attempt={attempt} />;
}

/** Steps that did not change keep their reading, so a live run does not read all again for each new one. */
function useReads(steps: Step[]): Read[] {
  const cache = useRef(new WeakMap<Step, Read>());
  return useMemo(
    () =>
      // eslint-disable-next-line react-hooks/refs -- a cache by identity; the result is the same with or without it
      inOrder(steps).map((step, index) => {
        const known = cache.current.get(step);
        if (known && known.n === index + 1) return known;
        const read = readStep(step, index + 1);
        cache.current.set(step, read);
        return read;
      }),
    [steps],
  );
}

function Known({ view, attempt }: { view: RunView; attempt: number | null }) {
  const { run, steps } = view;
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const reads = useReads(steps);
  const entries = useMemo(() => entriesOf(reads), [reads]);
  const live = run.counted === "pending" && attempt === null;
  const asked = params.get("step") ?? /^#s(\d+)$/.exec(location.hash)?.[1];
  const [follow, setFollow] = useState(!asked);
  const [jump, setJump] = useState(asked ? 1 : 0);
  const [asking, setAsking] = useState(false);
  const [picked, setPicked] = useState(Number(asked) || 0);
  const current = Math.min(picked, reads.length);
  const pane = (params.get("pane") ?? (run.counted === "failed" ? "log" : "grade")) as Pane;
  const name = run.slug ?? shortId(run.id);

  useEffect(() => remember({ to: `/trace/${run.id}`, text: `${name}, run ${run.repeat + 1}`, kind: "run" }), [run.id, name, run.repeat]);
  const set = useCallback(
    (key: string, value: string) => {
      setParams(
        (before) => {
          const next = new URLSearchParams(before);
          next.set(key, value);
          return next;
        },
        { replace: true },
      );
    },
    [setParams],
  );
  const pick = useCallback(
    (n: number) => {
      setFollow(false);
      setJump((before) => before + 1);
      setPicked(n);
      set("step", String(n));
    },
    [set],
  );
  const siblings = useMemo(() => [...run.siblings.filter((each) => each.id !== run.id), run].sort((a, b) => a.repeat - b.repeat), [run]);
  const place = siblings.findIndex((each) => each.id === run.id);
  const toSibling = (step: number) => {
    const other = siblings[place + step];
    if (other) void navigate(`/trace/${other.id}`);
  };
  const toStep = (n: number) => n >= 1 && n <= reads.length && pick(n);
  const toError = (direction: 1 | -1) => {
    const found = direction === 1 ? reads.find((read) => read.isError && read.n > current) : reads.findLast((read) => read.isError && read.n < current);
    if (found) pick(found.n);
  };
  useKeys("This run", [
    { keys: "j", what: "Next step", run: () => toStep(current + 1) },
    { keys: "k", what: "Previous step", run: () => toStep(current - 1) },
    { keys: "e", what: "Next error", run: () => toError(1) },
    { keys: "E", what: "Previous error", run: () => toError(-1) },
    { keys: "h", what: "Previous run of the task", run: () => toSibling(-1) },
    { keys: "l", what: "Next run of the task", run: () => toSibling(1) },
    { keys: "0", what: "First step", run: () => toStep(1) },
    { keys: "$", what: live ? "Follow live" : "Last step", run: () => (live ? setFollow(true) : toStep(reads.length)) },
    { keys: "1", what: "Grade", run: () => set("pane", "grade") },
    { keys: "2", what: "Container log", run: () => set("pane", "log") },
    { keys: "3", what: "Details", run: () => set("pane", "details") },
  ]);
  const phone = params.get("pane") !== null;
  return (
    <main id="main" className="page fill">
      <RunHead run={run} name={name} siblings={siblings.length} place={place} toSibling={toSibling} live={live} follow={follow} setFollow={setFollow} onCancel={() => setAsking(true)} />
      <div className="px-4 pb-2 min-[901px]:hidden">
        <PaneSwitch pane={phone ? pane : null} onPick={(next) => (next ? set("pane", next) : setParams({}, { replace: true }))} />
      </div>
      <div className="panes">
        <Outline reads={reads} current={current} onPick={pick} />
        <div className={`min-h-0 min-w-0 ${phone ? "max-[900px]:hidden" : ""} grid`}>
          <Boundary what="the transcript">
            <Transcript
              entries={entries}
              current={current}
              onPick={pick}
              live={live}
              follow={follow}
              setFollow={setFollow}
              jump={jump}
              busy={view.loading}
              before={
                <>
                  {run.sandbox === "subprocess" && (
                    <div className="banner warn">
                      <Icon name="warn" /> {UNSANDBOXED}
                    </div>
                  )}
                  {attempt !== null && attempt !== run.attempt && (
                    <div className="banner warn">
                      You look at attempt {attempt} of {run.attempt}. <Link to={`/trace/${run.id}`}>Go to the last one</Link>
                    </div>
                  )}
                  {run.counted === "failed" && <FailureCard run={run} />}
                  {reads.length === 0 && <NoSteps run={run} loading={view.loading} />}
                </>
              }
              after={
                <>
                  {view.loading && steps.length < view.total && (
                    <p className="px-6 py-3 text-12 text-text-3 tnum">
                      {count(steps.length)} of {count(view.total)} steps loaded
                    </p>
                  )}
                  {live && reads.length > 0 && <Waiting run={run} />}
                </>
              }
            />
          </Boundary>
        </div>
        <aside className={`flex min-h-0 min-w-0 flex-col border-l border-line bg-canvas max-[900px]:border-l-0 ${phone ? "" : "max-[900px]:hidden"}`} aria-label="About this run">
          <div className="tabs bg-surface max-[900px]:hidden" role="tablist" aria-label="Panes">
            {PANES.map(([each, text]) => (
              <button key={each} type="button" role="tab" aria-selected={each === pane} id={`tab-${each}`} aria-controls="pane" onClick={() => set("pane", each)}>
                {text}
              </button>
            ))}
          </div>
          <div id="pane" role="tabpanel" aria-labelledby={`tab-${pane}`} tabIndex={0} className="scroll flex min-h-0 grow flex-col">
            <Boundary what="this pane" key={pane}>
              {pane === "log" ? <LogPane run={run} /> : pane === "details" ? <DetailsPane run={run} /> : <GradePane run={run} />}
            </Boundary>
          </div>
        </aside>
      </div>
      {asking && <CancelRun run={run} name={name} onClose={() => setAsking(false)} />}
    </main>
  );
}

const PANES: readonly (readonly [Pane, string])[] = [
  ["grade", "Grade"],
  ["log", "Container log"],
  ["details", "Details"],
];

function PaneSwitch({ pane, onPick }: { pane: Pane | null; onPick: (pane: Pane | null) => void }) {
  return (
    <div className="seg flex! [&>button]:grow" role="group" aria-label="Pane">
      <button type="button" aria-pressed={pane === null} onClick={() => onPick(null)}>
        Steps
      </button>
      {PANES.map(([each, text]) => (
        <button key={each} type="button" aria-pressed={pane === each} onClick={() => onPick(each)}>
          {text.replace("Container log", "Log")}
        </button>
      ))}
    </div>
  );
}

interface HeadProps {
  run: RunOut;
  name: string;
  siblings: number;
  place: number;
  toSibling: (step: number) => void;
  live: boolean;
  follow: boolean;
  setFollow: (follow: boolean) => void;
  onCancel: () => void;
}

function RunHead({ run, name, siblings, place, toSibling, live, follow, setFollow, onCancel }: HeadProps) {
  const said = runState(run);
  const attempts = Array.from({ length: run.attempt }, (_, index) => index + 1);
  return (
    <PageHead
      title={name}
      fullTitle={siblings > 1 ? `${name}, run ${run.repeat + 1}` : name}
      lead={live ? said.word : undefined}
      trail={[{ to: "/jobs", text: "Jobs" }, ...(run.job_id ? [{ to: `/jobs/${run.job_id}`, text: run.job_name ?? shortId(run.job_id) }] : [])]}
      state={
        <>
          {siblings > 1 && (
            <span className="tag tnum">
              run {place + 1} of {siblings}
            </span>
          )}
          <span data-testid="run-state">
            <State kind={said.kind}>{said.word}</State>
          </span>
          {live && run.phase && run.phase !== said.word && <span className="tag">{run.phase.replaceAll("_", " ")}</span>}
          {run.sandbox === "subprocess" && (
            <span className="tag bad" title={UNSANDBOXED}>
              unsandboxed
            </span>
          )}
          {run.attempt > 1 && (
            <span className="flex items-center gap-1 text-12 text-text-2">
              attempt
              {attempts.map((each) => (
                <Link key={each} className={each === run.attempt ? "font-semibold" : ""} to={each === run.attempt ? `/trace/${run.id}` : `?attempt=${each}`}>
                  {each}
                </Link>
              ))}
            </span>
          )}
        </>
      }
      meta={<Meta run={run} />}
      actions={
        <>
          {live && (
            <label className="flex items-center gap-1.5">
              <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.target.checked)} /> Follow
            </label>
          )}
          {siblings > 1 && (
            <span className="flex">
              <button type="button" className="btn icon rounded-r-none!" aria-label="Previous run of this task" title="Previous run of this task (h)" disabled={place <= 0} onClick={() => toSibling(-1)}>
                <Icon name="left" />
              </button>
              <button type="button" className="btn icon rounded-l-none! border-l-0!" aria-label="Next run of this task" title="Next run of this task (l)" disabled={place >= siblings - 1} onClick={() => toSibling(1)}>
                <Icon name="right" />
              </button>
            </span>
          )}
          <UseFromCode snippets={[rest(`/api/runs/${run.id}/steps`), sdk(sdkTrace(run.id)), hud(`hud trace get ${run.id}`)]} />
          {live && run.source === "hosted" && (
            <button type="button" className="btn danger" onClick={onCancel}>
              <Icon name="stop" /> Cancel…
            </button>
          )}
        </>
      }
    />
  );
}

const sdkTrace = (id: string) => `import httpx, os

reply = httpx.get("${location.origin}/api/runs/${id}", headers={"Authorization": f"Bearer {os.environ['HUD_API_KEY']}"})
print(reply.json()["reward"])`;

function Meta({ run }: { run: RunOut }) {
  const parts = gradeOf(run.evaluation)?.subscores ?? [];
  return (
    <>
      <span className="empty:hidden!">
        {run.counted === "graded" && <Gauge value={run.reward} />}
        {run.counted === "failed" && <Mark cell={cellOf(run)} mini />}
        {run.counted === "failed" && run.blame && `blamed on ${run.blame}`}
        {parts.length > 0 && <span className="text-text-3">= {parts.slice(0, 4).map((part) => `${part.name} ${reward(part.value)}`).join(", ")}</span>}
      </span>
      {(run.model ?? run.agent_type) && (
        <span>
          <Icon name="model" /> {run.model ?? run.agent_type}
        </span>
      )}
      {run.env && (
        <Link className="plain" to={`/environments/${run.environment_id ?? encodeURIComponent(run.env)}`}>
          <Icon name="environment" /> {run.env}
          {run.environment_version !== null && ` v${run.environment_version}`}
        </Link>
      )}
      <span>
        <Icon name="clock" /> <Age since={run.started_at} until={run.ended_at} />
      </span>
      {run.total_tokens !== null && (
        <span className="tnum">
          <Icon name="hash" /> {count(run.total_tokens)} tokens
        </span>
      )}
      {run.cost_usd !== null && (
        <span className="tnum">
          <Icon name="money" /> {money(run.cost_usd)}
        </span>
      )}
      <Id id={run.id} what="run" />
    </>
  );
}

/** The cause stands where the person looks first; said about a party, not a person. */
function FailureCard({ run }: { run: RunOut }) {
  return (
    <section className="m-4 flex gap-3 rounded-3 border border-(--bad-line) bg-bad-soft p-3" aria-label="Failure" data-testid="failure">
      <Mark cell={{ kind: "fail", letter: run.blame ? BLAME_LETTER[run.blame] : "!", word: "failed" }} />
      <div className="grid min-w-0 gap-1">
        <h2 className="text-13 text-bad">
          Failed{run.blame && `, blamed on ${run.blame}`} <span className="tag line">{run.failure_class ?? "unknown"}</span>
        </h2>
        <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{run.full_error ?? run.error ?? "No message was recorded."}</p>
        <p className="text-12 text-text-2">
          It has no reward and is left out of the mean.{run.exit_code !== null && ` The container ended with exit code ${run.exit_code}.`} The container log may say more.
        </p>
      </div>
    </section>
  );
}

function NoSteps({ run, loading }: { run: RunOut; loading: boolean }) {
  if (loading && run.step_count > 0) return null;
  if (run.state === "queued") return <Empty title="Waiting for a slot">The run starts as soon as a worker is free.</Empty>;
  if (run.counted === "pending") return <Empty title={run.phase === "setup" ? "Setting up the task" : "Starting the environment"}>The first step comes when it has answered.</Empty>;
  return <Empty title="This run reported no steps">{run.source === "reported" ? "Check that HUD_TELEMETRY_URL points here and HUD_TELEMETRY_ENABLED is not off." : "It ended before the first one."}</Empty>;
}

function Waiting({ run }: { run: RunOut }) {
  if (run.state === "queued") return null;
  return (
    <p className="flex items-center gap-2 px-6 py-3 text-12" role="status">
      <State kind="run">{run.phase ? run.phase.replaceAll("_", " ") : runState(run).word}</State>
      <span className="text-text-3">
        running for <Age since={run.started_at} />
      </span>
    </p>
  );
}

function CancelRun({ run, name, onClose }: { run: RunOut; name: string; onClose: () => void }) {
  const cancel = useMutation({
    mutationFn: () => api<CancelOut>(`/api/runs/${run.id}/cancel`, { method: "POST", repeatable: true }),
    onSuccess: () => {
      toast("Cancelling the run");
      onClose();
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      title={`Cancel this run of ${name}?`}
      about="The environment is stopped and removed. The run ends as cancelled, without a reward."
      keep="Keep running"
      verb="Cancel run"
      busy={cancel.isPending}
      onConfirm={() => cancel.mutate()}
      error={cancel.error && <Failed what="Could not cancel" error={cancel.error} />}
    />
  );
}
