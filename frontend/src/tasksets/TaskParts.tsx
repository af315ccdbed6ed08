/** What a task holds, part by part, as exact JSON. */
import type { TaskOut } from "../api/types";
import { Json } from "../ui/Json";

const PARTS = [
  ["args", "Arguments"],
  ["columns", "Columns"],
  ["verifier", "Verifier"],
  ["agent_config", "Agent config"],
  ["runtime_config", "Runtime config"],
  ["validation", "Validation"],
] as const;

export function TaskParts({ task }: { task: TaskOut }) {
  return PARTS.map(([field, title]) => {
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
  });
}
