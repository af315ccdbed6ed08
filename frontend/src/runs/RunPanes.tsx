/** What stands beside the transcript: the grade, the container's log, and every pin that says what was measured. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { logQuery } from "../api/queries";
import type { RunOut } from "../api/types";
import { Copy, Digest } from "../ui/Copy";
import { ABSENT, bytes, count, money, reward } from "../ui/formats";
import { Json } from "../ui/Json";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { Gauge } from "../ui/Reward";
import { Age, Time } from "../ui/Time";
import type { Grade, Subscore } from "./steps";
import { gradeOf } from "./steps";
import { UNSANDBOXED } from "./words";

export type Pane = "grade" | "log" | "details";

export function GradePane({ run }: { run: RunOut }) {
  const grade = gradeOf(run.evaluation);
  if (!grade) {
    if (run.counted === "pending") return <Empty title="Not graded yet">The grade comes when the environment has judged the answer.</Empty>;
    return <Empty title="No grade">{run.counted === "failed" ? "The run failed before a grade, so it has no reward. It is not counted as 0." : "The run was cancelled, so it has no reward."}</Empty>;
  }
  return (
    <div className="grid gap-3 p-4">
      <div className="flex items-baseline gap-3">
        <span className="text-28 font-semibold tnum" title={run.reward === null ? "no reward" : String(run.reward)}>
          {reward(run.reward, 3)}
        </span>
        <span className="text-text-2">{run.reward === null ? "no reward: the grade has no finite score, or says it is an error" : "reward"}</span>
      </div>
      {grade.content && <p className="prose">{grade.content}</p>}
      {grade.subscores.length > 0 && (
        <table className="table tight">
          <caption className="sr-only">Subscores</caption>
          <thead>
            <tr>
              <th scope="col">Subscore</th>
              <th scope="col" className="num" style={{ width: 72 }}>
                Weight
              </th>
              <th scope="col" style={{ width: 96 }}>
                Value
              </th>
            </tr>
          </thead>
          <tbody>
            <SubscoreRows scores={grade.subscores} depth={0} />
          </tbody>
        </table>
      )}
      <Frames grade={grade} run={run} />
    </div>
  );
}

function SubscoreRows({ scores, depth }: { scores: Subscore[]; depth: number }): ReactNode {
  return scores.map((score, index) => (
    <SubscoreRow key={index} score={score} depth={depth} />
  ));
}

function SubscoreRow({ score, depth }: { score: Subscore; depth: number }) {
  return (
    <>
      <tr title={score.info ?? undefined}>
        <td style={{ paddingLeft: 14 + depth * 16 }}>{score.name}</td>
        <td className="num">{score.weight ?? ABSENT}</td>
        <td>
          <Gauge value={score.value} />
        </td>
      </tr>
      <SubscoreRows scores={score.children} depth={depth + 1} />
    </>
  );
}

function Frames({ grade, run }: { grade: Grade; run: RunOut }) {
  return (
    <>
      {grade.info && (
        <section className="grid gap-1">
          <h2 className="sub">Info</h2>
          <Json text={grade.info} label="grade info" />
        </section>
      )}
      {run.evaluation && (
        <section className="grid gap-1">
          <h2 className="sub">As the grader gave it</h2>
          <Json text={run.evaluation} label="grade frame" />
        </section>
      )}
    </>
  );
}

/** The container's output, read again while the run goes on; following keeps the end in view. */
export function LogPane({ run }: { run: RunOut }) {
  const live = run.counted === "pending";
  const log = useQuery({ ...logQuery(run.id), refetchInterval: live ? 3000 : false });
  const [follow, setFollow] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [log.data, follow]);
  if (log.error) return <Failed what="Could not load the log" error={log.error} retry={() => void log.refetch()} />;
  if (log.isPending) return <Skeleton />;
  const text = log.data;
  return (
    <div className="flex min-h-0 grow flex-col">
      <div className="flex flex-wrap items-center gap-3 px-3 py-2 text-12">
        <label className="flex items-center gap-1.5">
          <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.target.checked)} /> Follow
        </label>
        <span className="text-text-3 tnum">{text.length < run.log_bytes ? `last ${bytes(text.length)} of ${bytes(run.log_bytes)}` : bytes(text.length)}</span>
        <span className="grow" />
        <span className="text-text-2">{run.exit_code === null ? (live ? "still running" : "no exit code recorded") : `exit ${run.exit_code}`}</span>
        <Copy text={text} label="Copy the log" />
      </div>
      {text === "" ? (
        <Empty title="Nothing written yet">{run.sandbox === null ? "This run reported no container." : "The environment's output would show here."}</Empty>
      ) : (
        <div ref={box} className="term mx-3 mb-3 min-h-0 grow" role="log" aria-live="off" aria-label="Container log" tabIndex={0}>
          {text}
        </div>
      )}
    </div>
  );
}

function Facts({ title, facts }: { title: string; facts: [string, ReactNode][] }) {
  return (
    <section className="grid gap-1.5">
      <h2 className="sub">{title}</h2>
      <dl className="grid grid-cols-[128px_minmax(0,1fr)] items-baseline gap-x-3 gap-y-1">
        {facts.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-text-3">{name}</dt>
            <dd className="[overflow-wrap:anywhere]">{value ?? <span title="not recorded">{ABSENT}</span>}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

export function DetailsPane({ run }: { run: RunOut }) {
  const over = run.counted !== "pending";
  const set = run.taskset;
  return (
    <div className="grid gap-5 p-4">
      <Facts
        title="Now"
        facts={[
          ["State", run.state],
          ["Phase", over ? null : run.phase],
          ["Age", <Age key="age" since={run.started_at ?? run.created_at} until={run.ended_at} />],
          ["Worker", run.worker],
          ["Last heartbeat", run.heartbeat_at && <Time at={run.heartbeat_at} />],
          ["Exit code", run.exit_code],
          ["Stop reason", run.stop_reason],
          ["Started", run.started_at && <Time at={run.started_at} />],
          ["Ended", run.ended_at && <Time at={run.ended_at} />],
        ]}
      />
      <Facts
        title="What it measured"
        facts={[
          ["Content id", run.content_id && <Digest value={run.content_id} what="content id" />],
          ["Taskset", set && <Link to={`/tasksets/${set.id}${set.version_number === null ? "" : `?v=${set.version_number}`}`}>{set.name}{set.version_number !== null && `@${set.version_number}`}</Link>],
          ["Version digest", set?.digest && <Digest value={set.digest} what="version digest" />],
          ["Environment", run.env && (run.environment_id ? <Link to={`/environments/${run.environment_id}`}>{run.env}{run.environment_version !== null && ` v${run.environment_version}`}</Link> : run.env)],
          ["Image", run.image && <code>{run.image}</code>],
          ["Image id", run.image_id && <Digest value={run.image_id} what="image id" />],
          ["Template", run.task_id && <code>{run.task_id}</code>],
          ["Agent", run.agent_type],
          ["Model", run.model],
          ["Attempt", run.attempt || null],
          ["Group", run.group_id && <code>{run.group_id}</code>],
        ]}
      />
      <Facts
        title="Where it ran"
        facts={[
          ["Sandbox", run.sandbox === "subprocess" ? `unsandboxed. ${UNSANDBOXED}` : run.sandbox],
          ["Container", run.container_id && <code>{run.container_id.slice(0, 12)}</code>],
          ["Log", bytes(run.log_bytes)],
          ["Source", run.source],
        ]}
      />
      <Facts
        title="Use"
        facts={[
          ["Tokens in", count(run.prompt_tokens)],
          ["Tokens out", count(run.completion_tokens)],
          ["Cached", count(run.cached_tokens)],
          ["Cost", <span key="cost" title={run.cost_usd === null ? "not priced" : String(run.cost_usd)}>{money(run.cost_usd)}</span>],
        ]}
      />
      {run.args && <JsonPart title="Arguments" text={run.args} />}
      {run.columns && <JsonPart title="Columns" text={run.columns} />}
      {run.agent_config && <JsonPart title="Agent config" text={JSON.stringify(run.agent_config)} />}
    </div>
  );
}

function JsonPart({ title, text }: { title: string; text: string }) {
  return (
    <section className="grid gap-1">
      <h2 className="sub">{title}</h2>
      <Json text={text} label={title} />
    </section>
  );
}
