/** File, Map, Check, Commit: where one is, and the way back to steps that are behind. */
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { ImportOut } from "../api/types";
import { bytes, count, plural } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { STEPS, isRunning, stepPath } from "./paths";
import type { Step } from "./paths";

const WORDS: Record<Step, string> = { file: "File", map: "Map", check: "Check", commit: "Commit" };

export function Stepper({ step, found }: { step: Step; found: ImportOut | null }) {
  const at = STEPS.indexOf(step);
  return (
    <ol className="stepper" aria-label="Steps of the import">
      {STEPS.map((name, index) => (
        <li key={name} className={index < at ? "done" : ""} aria-current={name === step ? "step" : undefined}>
          <span className="number" aria-hidden="true">
            {index < at ? <Icon name="check" small /> : index + 1}
          </span>
          <StepWords to={linkOf(name, step, found)}>
            <b>{WORDS[name]}</b>
            <span className="about">{found ? aboutOf(name, found) : ""}</span>
          </StepWords>
        </li>
      ))}
    </ol>
  );
}

function StepWords({ to, children }: { to: string | null; children: ReactNode }) {
  return to ? (
    <Link className="words plain" to={to}>
      {children}
    </Link>
  ) : (
    <span className="words">{children}</span>
  );
}

/** Where one can go from here; the file can't be changed under an import. */
function linkOf(name: Step, step: Step, found: ImportOut | null): string | null {
  if (!found || name === "file" || name === step || found.status === "committing") return null;
  if (name === "map") return isRunning(found) ? null : stepPath(found, "map");
  if (name === "check") return found.mapping ? stepPath(found, "check") : null;
  return found.status === "checked" && found.errors_total === 0 ? stepPath(found, "commit") : null;
}

function aboutOf(name: Step, found: ImportOut): string {
  if (name === "file") return `${found.filename}, ${bytes(found.size_bytes)}`;
  if (name === "map") return plural(found.columns.length, "column");
  if (name === "check" && found.errors_total !== null && !isRunning(found)) return found.errors_total ? plural(found.errors_total, "error") : `${count(found.rows_good ?? 0)} good rows`;
  return "";
}
