/** What a task holds: the prompt as it reads, then part by part as exact JSON. */
import type { TaskOut } from "../api/types";
import { Digest } from "../ui/Copy";
import { Icon } from "../ui/Icon";
import { Json } from "../ui/Json";
import { Markdown } from "../ui/Markdown";
import { askedIn } from "./prompt";

const PARTS = [
  ["args", "Arguments"],
  ["columns", "Columns"],
  ["verifier", "Verifier"],
  ["agent_config", "Agent config"],
  ["runtime_config", "Runtime config"],
  ["validation", "Validation"],
] as const;

/** Template and content: what names the task exactly. */
export function TaskFacts({ task }: { task: TaskOut }) {
  return (
    <>
      <span>
        <Icon name="file" /> <code>{task.task_id}</code>
      </span>
      <span>
        <Icon name="hash" /> <Digest value={task.content_id} what="content id" />
      </span>
    </>
  );
}

export function TaskParts({ task }: { task: TaskOut }) {
  return (
    <>
      <Prompt args={task.args} />
      {PARTS.map(([field, title]) => {
        const text = task[field];
        if (text === null) return null;
        return (
          <section key={field} className="card">
            <header>
              <h2>{title}</h2>
            </header>
            <div className="p-3">
              <Json text={text} label={title} />
            </div>
          </section>
        );
      })}
    </>
  );
}

function Prompt({ args }: { args: string | null }) {
  const asked = args === null ? null : askedIn(args);
  if (!asked) return null;
  return (
    <section className="card" aria-label="Prompt">
      <header>
        <h2>Prompt</h2>
        <span className="acts text-12 text-text-3">args.{asked.key}</span>
      </header>
      <div className="p-4">
        <Markdown text={asked.text} />
      </div>
    </section>
  );
}
