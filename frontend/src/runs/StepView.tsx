/** One entry of the transcript: who, how long, what was said, calls with their results. Text is shown as text, never as HTML. */
import { useState } from "react";
import type { ReactNode } from "react";
import { bytes, count, duration, money, plural } from "../ui/formats";
import { Icon } from "../ui/Icon";
import type { IconName } from "../ui/Icon";
import { Json } from "../ui/Json";
import { State } from "../ui/State";
import type { Block, Call, Entry, Read, Usage } from "./steps";

export const KIND_ICON: Record<Read["kind"], IconName> = { task: "environment", user: "user", agent: "agent", tool: "tool", subagent: "branch", system: "warn", span: "run" };
export const KIND_WORD: Record<Read["kind"], string> = { task: "Task", user: "User", agent: "Agent", tool: "Tool", subagent: "Sub-agent", system: "System", span: "Span" };

interface Props {
  entry: Entry;
  current: boolean;
  onPick: (n: number) => void;
}

export function StepView({ entry, current, onPick }: Props) {
  const { read, joined } = entry;
  const bad = read.isError || joined.some((each) => each.result?.isError);
  const label = `Step ${read.n}, ${KIND_WORD[read.kind]}${read.seconds === null ? "" : `, ${duration(read.seconds)}`}`;
  return (
    <article className={`step ${current ? "on" : ""} ${bad ? "err" : ""}`} aria-label={label} aria-current={current ? "step" : undefined} data-step={read.n} data-step-kind={read.kind}>
      <header className="mb-1 flex h-6 items-center gap-2 text-12">
        <button type="button" className="min-w-6 text-11 text-text-3 tnum" onClick={() => onPick(read.n)} aria-label={`Link to step ${read.n}`}>
          {read.n}
        </button>
        <span className={`k-${read.kind} flex items-center gap-1.5 font-semibold`}>
          <Icon name={KIND_ICON[read.kind]} small />
          {read.kind === "tool" ? (read.call?.name ?? "Tool") : read.kind === "task" ? read.title : read.kind === "span" ? read.step.name : KIND_WORD[read.kind]}
        </span>
        <span className="truncate text-text-3 tnum">{[read.seconds === null ? null : duration(read.seconds), usage(read.usage)].filter(Boolean).join(" · ")}</span>
        {read.step.ended_at === null && <State kind="run">in progress</State>}
      </header>
      <div className="grid gap-2 md:ml-8">
        <Body read={read} />
        {joined.map((each, index) => (
          <CallView key={each.call.id ?? index} call={each.call} result={each.result} elsewhere={each.elsewhere} onPick={onPick} />
        ))}
        {read.error && <div className="term bad">{read.error}</div>}
      </div>
    </article>
  );
}

function usage(use: Usage | null): string | null {
  if (!use || (use.prompt === null && use.completion === null)) return null;
  const cached = use.cached ? `, ${count(use.cached)} cached` : "";
  const cost = use.cost === null ? "" : ` · ${money(use.cost)}`;
  return `${count(use.prompt)} in, ${count(use.completion)} out${cached}${cost}`;
}

function Body({ read }: { read: Read }) {
  switch (read.kind) {
    case "agent":
      return (
        <>
          {read.reasoning && <Reasoning text={read.reasoning} />}
          {read.text && <LongText text={read.text} prose />}
          {read.refusal && <p className="text-warn">Refused: {read.refusal}</p>}
          {!read.text && !read.refusal && read.calls.length === 0 && !read.error && <p className="text-text-3">No text.</p>}
        </>
      );
    case "user":
      return <Blocks blocks={read.blocks} prose />;
    case "tool":
      return (
        <>
          {read.call && <Arguments call={read.call} />}
          <Blocks blocks={read.blocks} bad={read.isError} />
        </>
      );
    case "task":
      return <TaskBody read={read} />;
    case "subagent":
      return (
        <>
          {read.text && <LongText text={read.text} prose />}
          {read.json && (
            <Folded title="Its own steps">
              <Json text={read.json} label="sub-agent trace" />
            </Folded>
          )}
        </>
      );
    case "system":
      return null;
    case "span":
      return read.json ? (
        <Folded title="Payload">
          <Json text={read.json} label="span payload" />
        </Folded>
      ) : null;
  }
}

function TaskBody({ read }: { read: Read }) {
  return (
    <>
      {read.text && read.text !== "{}" && (
        <Folded title={read.phase === "evaluate" ? "Answer that was graded" : "Arguments"}>
          <Json text={read.text} label="arguments" />
        </Folded>
      )}
      {read.json && (
        <Folded title={read.phase === "evaluate" ? "Grade frame" : "Start frame"} open={read.phase === "evaluate"}>
          <Json text={read.json} label="frame" />
        </Folded>
      )}
    </>
  );
}

function Reasoning({ text }: { text: string }) {
  return (
    <Folded title={`Reasoning, ${plural(text.trim().split(/\s+/).length, "word")}`}>
      <LongText text={text} prose quiet />
    </Folded>
  );
}

function Folded({ title, open = false, children }: { title: string; open?: boolean; children: ReactNode }) {
  return (
    <details open={open}>
      <summary className="w-fit cursor-pointer text-12 leading-6 text-text-2">{title}</summary>
      {children}
    </details>
  );
}

function CallView({ call, result, elsewhere, onPick }: { call: Call; result: Read | null; elsewhere: number | null; onPick: (n: number) => void }) {
  return (
    <div className="call" data-call={call.id ?? ""} data-step={result?.n}>
      <div className="flex h-[30px] items-center gap-2 px-2.5 text-12">
        <span className="k-tool flex items-center gap-1.5">
          <Icon name="tool" small />
          <b className="mono font-semibold">{call.name}</b>
        </span>
        <span className="truncate text-text-3 tnum">
          {result ? `step ${result.n}${result.seconds === null ? "" : `, ${duration(result.seconds)}`}` : elsewhere === null ? "no result yet" : ""}
          {elsewhere !== null && (
            <button type="button" className="text-accent underline" onClick={() => onPick(elsewhere)}>
              result in step {elsewhere}
            </button>
          )}
        </span>
        <span className="grow" />
        {result?.isError && <State kind="bad">error</State>}
      </div>
      <Arguments call={call} bare />
      {result && <Blocks blocks={result.blocks} bad={result.isError} bare />}
      {result?.error && <div className="term bad">{result.error}</div>}
    </div>
  );
}

/** One text argument is shown as that text; anything else as JSON. */
function Arguments({ call, bare = false }: { call: Call; bare?: boolean }) {
  if (call.args === "{}") return null;
  const only = soleText(call.args);
  if (only !== null) return <pre className="code">{cut(only)}</pre>;
  return bare ? (
    <div className="border-t border-line p-1.5">
      <Json text={call.args} label={`arguments of ${call.name}`} />
    </div>
  ) : (
    <Json text={call.args} label={`arguments of ${call.name}`} />
  );
}

function soleText(args: string): string | null {
  try {
    const values = Object.values(JSON.parse(args) as object);
    return values.length === 1 && typeof values[0] === "string" ? values[0] : null;
  } catch {
    return args;
  }
}

const CUT = 20_000;
const cut = (text: string) => (text.length > CUT ? `${text.slice(0, CUT)}\n… cut at ${bytes(CUT)} of ${bytes(text.length)}` : text);

function Blocks({ blocks, prose = false, bad = false, bare = false }: { blocks: Block[]; prose?: boolean; bad?: boolean; bare?: boolean }) {
  if (blocks.length === 0 && !prose) return bare ? <p className="border-t border-line px-2.5 py-1 text-12 text-text-3">no output</p> : null;
  return blocks.map((block, index) => {
    if (block.type === "image") return <Picture key={index} source={block.source} about={block.about} />;
    if (block.type === "other") return <Json key={index} text={block.text} label="content" />;
    if (prose) return <LongText key={index} text={block.text} prose />;
    return (
      <div key={index} className={`term ${bad ? "bad" : ""}`} tabIndex={0} role="group" aria-label="Output">
        <LongText text={block.text} />
      </div>
    );
  });
}

function Picture({ source, about }: { source: string; about: string }) {
  const [missing, setMissing] = useState(false);
  if (missing) {
    return (
      <p className="m-2 rounded-2 border border-dashed border-control px-3 py-4 text-12 text-text-3">
        Picture not available ({about})
      </p>
    );
  }
  return (
    <a href={source} target="_blank" rel="noopener noreferrer" className="m-2 block w-fit">
      <img src={source} alt={`Returned by the tool, ${about}`} loading="lazy" decoding="async" className="max-h-80 max-w-full rounded-2 border border-line-2" onError={() => setMissing(true)} />
    </a>
  );
}

const FOLD = 40;

/** Folds past forty lines; very long text is cut with its size until asked for. */
function LongText({ text, prose = false, quiet = false }: { text: string; prose?: boolean; quiet?: boolean }) {
  const [whole, setWhole] = useState(false);
  const lines = text.split("\n");
  const long = lines.length > FOLD || text.length > CUT;
  const shown = whole || !long ? text : lines.slice(0, FOLD).join("\n").slice(0, CUT);
  return (
    <>
      <div className={`${prose ? "prose" : ""} ${quiet ? "text-text-2" : ""}`}>{shown}</div>
      {long && (
        <button type="button" className="btn ghost w-fit" style={prose ? undefined : { color: "inherit" }} onClick={() => setWhole(!whole)}>
          {whole ? "Show less" : `Show all ${plural(lines.length, "line")}, ${bytes(text.length)}`}
        </button>
      )}
    </>
  );
}
