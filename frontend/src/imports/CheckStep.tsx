/** The third step: the whole file is read and every row tried; its errors are mended here, or left out by choice. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearchParams } from "react-router";
import { api } from "../api/client";
import type { ImportOut } from "../api/types";
import { count, plural } from "../ui/formats";
import { useKeys } from "../ui/keys";
import { Failed } from "../ui/Notices";
import { State } from "../ui/State";
import { IN_PLACE } from "../ui/useAddress";
import { Errors } from "./Errors";
import { PlanView } from "./PlanView";
import { ProgressBar } from "./ProgressBar";
import { newImport, stepPath } from "./paths";
import { importQuery } from "./queries";
import { RowEditor } from "./RowEditor";
import { StepFoot } from "./StepFoot";

export function CheckStep({ found }: { found: ImportOut }) {
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const set = (name: string, value: string | null) => {
    const next = new URLSearchParams(params);
    if (value === null) next.delete(name);
    else next.set(name, value);
    setParams(next, IN_PLACE);
  };
  const leaveOut = params.has("leave_out");
  const line = Number(params.get("line") ?? 0);
  const bad = (found.rows_total ?? 0) - (found.rows_good ?? 0);
  const checked = found.status === "checked";
  const why = whyNot(found, bad, leaveOut);
  const onward = `${stepPath(found, "commit")}${leaveOut && bad > 0 ? "?leave_out=1" : ""}`;
  useKeys("Check", [{ keys: "mod+Enter", what: "Go on to commit", run: () => why === null && void navigate(onward), typing: true }]);
  return (
    <>
      <div className="import-body">
        <div className="import-main">
          {found.status === "checking" && <Checking found={found} />}
          {found.status === "failed" && <Unreadable found={found} />}
          {(checked || found.check !== null) && <Errors found={found} onEdit={found.format === "zip" ? null : (error) => set("line", String(error.line))} />}
        </div>
        {checked && (
          <div className="grid content-start gap-4">
            <section className="card" aria-label="What is good">
              <header>
                <h2>Rows</h2>
              </header>
              <div className="grid gap-2 p-3.5">
                <State kind={bad ? "warn" : "ok"}>
                  <span className="tnum">
                    {count(found.rows_good ?? 0)} of {plural(found.rows_total ?? 0, "row")} good
                  </span>
                </State>
                {bad > 0 && (
                  <label className="flex items-start gap-2">
                    <input type="checkbox" className="mt-1" checked={leaveOut} onChange={(event) => set("leave_out", event.target.checked ? "1" : null)} />
                    <span>Leave out {plural(bad, "bad row")}. The import’s report keeps the errors.</span>
                  </label>
                )}
              </div>
            </section>
            {found.plan && (
              <section className="card" aria-label="Plan">
                <header>
                  <h2>Add or update would</h2>
                </header>
                <div className="p-3.5">
                  <PlanView plan={found.plan} errors={bad} />
                  <p className="mt-2 text-12 text-text-3">Other verbs are on the next step.</p>
                </div>
              </section>
            )}
          </div>
        )}
      </div>
      {line > 0 && found.format !== "zip" && <RowEditor key={line} found={found} line={line} onClose={() => set("line", null)} />}
      <StepFoot back={{ to: stepPath(found, "map"), text: "Map" }} about={<span aria-live="polite">{why ?? "Nothing is stored in the taskset before you commit."}</span>}>
        {why === null ? (
          <Link className="btn pri" to={onward}>
            Commit
          </Link>
        ) : (
          <button type="button" className="btn pri" disabled title={why}>
            Commit
          </button>
        )}
      </StepFoot>
    </>
  );
}

function whyNot(found: ImportOut, bad: number, leaveOut: boolean): string | null {
  if (found.status === "checking") return "The file is being checked.";
  if (found.status === "failed") return "A file that can’t be read to its end is not half loaded.";
  if (!found.rows_good) return "No row of the file is good.";
  return bad > 0 && !leaveOut ? `Mend ${plural(bad, "bad row")}, or choose to leave them out.` : null;
}

function Checking({ found }: { found: ImportOut }) {
  return (
    <section className="card grid gap-2 p-3.5" aria-label="Check" aria-live="polite">
      <State kind="run">Checking the whole file</State>
      <ProgressBar label={`Check of ${found.filename}`} value={found.progress} max={1} />
      <p className="text-12 text-text-2">It goes on when you leave; this page can be closed.</p>
    </section>
  );
}

function Unreadable({ found }: { found: ImportOut }) {
  const client = useQueryClient();
  const again = useMutation({
    mutationFn: () => api<ImportOut>(`/api/imports/${found.id}/mapping`, { method: "PUT", body: found.mapping, repeatable: true }),
    onSuccess: (checking) => client.setQueryData(importQuery(found.id).queryKey, checking),
  });
  return (
    <section className="card" aria-label="Refused">
      <Failed what={`${found.filename} was refused`} error={new Error(found.error ?? "It can’t be read.")} retry={() => again.mutate()} />
      {again.error && <Failed what="Could not check again" error={again.error} />}
      <p className="px-4 pb-3 text-text-2">
        Nothing of it was stored. Mend the file and <Link to={newImport(found.taskset)}>bring it again</Link>, or <Link to={stepPath(found, "map")}>read it in another way</Link>.
      </p>
    </section>
  );
}
