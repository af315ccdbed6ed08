/** The words for what an import is doing and for the verbs of its commit. */
import type { ImportMode, ImportOut } from "../api/types";
import { State } from "../ui/State";
import type { StateKind } from "../ui/State";

const STATES: Record<ImportOut["status"], readonly [StateKind, string]> = {
  new: ["pen", "to be mapped"],
  pulling: ["run", "pulling"],
  ready: ["pen", "to be mapped"],
  checking: ["run", "checking"],
  checked: ["pen", "to be committed"],
  committing: ["run", "committing"],
  done: ["ok", "done"],
  failed: ["bad", "failed"],
  cancelled: ["can", "cancelled"],
};

export function ImportState({ found }: { found: Pick<ImportOut, "status" | "progress"> }) {
  const [kind, word] = STATES[found.status];
  return (
    <State kind={kind}>
      {word}
      {kind === "run" && <span className="tnum">{Math.floor(found.progress * 100)} %</span>}
    </State>
  );
}

export const MODES: readonly (readonly [ImportMode, string, string])[] = [
  ["create", "Create", "Only into a taskset without tasks."],
  ["merge", "Add or update", "Tasks that the file does not name stay."],
  ["replace", "Replace all", "Tasks that the file does not name go."],
  ["remove", "Remove", "The tasks that the file names go; nothing else of it counts."],
];

export const LAYOUTS: Record<ImportOut["layout"], string> = { columns: "columns", tasks: "rows of tasks", openai_evals: "OpenAI Evals", inspect: "Inspect samples" };
