/** The last step: a verb with its plan shown first, a message, perhaps a tag; then the commit, seen to its end also after a reload. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { api } from "../api/client";
import { tasksetQuery } from "../api/queries";
import type { ImportMode, ImportOut, UploadOut } from "../api/types";
import { plural } from "../ui/formats";
import { shownKeys, useKeys } from "../ui/keys";
import { Failed } from "../ui/Notices";
import { State } from "../ui/State";
import { toast } from "../ui/toast";
import { IN_PLACE } from "../ui/useAddress";
import { PlanView } from "./PlanView";
import { ProgressBar } from "./ProgressBar";
import { outcomePath, stepPath } from "./paths";
import { importQuery } from "./queries";
import { StepFoot } from "./StepFoot";
import { MODES } from "./words";

export function CommitStep({ found }: { found: ImportOut }) {
  const [params, setParams] = useSearchParams();
  const [message, setMessage] = useState("");
  const [tag, setTag] = useState("");
  const leaveOut = params.has("leave_out");
  const mode = modeOf(params.get("mode"), found);
  const plan = found.plans[mode];
  const bad = (found.rows_total ?? 0) - (found.rows_good ?? 0);
  const commit = useCommit(found);
  const running = commit.isPending || found.status === "committing";
  useLanding(found);
  const why = plan?.refused ?? (found.status === "checked" ? null : found.status === "checking" ? "The file is being checked." : running ? "The rows are being committed." : "The file has to be checked first.");
  const go = () => !running && why === null && commit.mutate({ mode, message, tag: tag || null, leave_out_bad: leaveOut });
  useKeys("Commit", [{ keys: "mod+Enter", what: "Commit", run: go, typing: true }]);
  const choose = (next: ImportMode) => {
    const query = new URLSearchParams(params);
    query.set("mode", next);
    setParams(query, IN_PLACE);
  };
  return (
    <>
      <div className="import-body narrow">
        <div className="grid content-start gap-4">
          <Verbs found={found} mode={mode} disabled={running} onChoose={choose} />
          <div className="grid gap-3 md:grid-cols-2">
            <label className="grid content-start gap-1 font-medium">
              Message
              <input className="box" value={message} maxLength={1000} disabled={running} placeholder="what changed, for the version list" onChange={(event) => setMessage(event.target.value)} />
            </label>
            <label className="grid content-start gap-1 font-medium">
              Tag
              <input className="box mono" value={tag} maxLength={64} disabled={running} placeholder="none" onChange={(event) => setTag(event.target.value)} />
              <span className="text-12 font-normal text-text-3">Moves to the new version, like prod or 2026-q4.</span>
            </label>
          </div>
          {running && (
            <section className="card grid gap-2 p-3.5" aria-label="Commit" aria-live="polite">
              <State kind="run">Committing</State>
              <ProgressBar label={`Commit of ${found.filename}`} value={found.status === "committing" ? found.progress : 0} max={1} />
              <p className="text-12 text-text-2">One version is made at the end, or none. It goes on when you leave.</p>
            </section>
          )}
          {!running && commit.error && <Failed what="Could not commit" error={commit.error} retry={go} />}
          {!running && !commit.error && found.error && <Failed what="The commit before did not end" error={new Error(found.error)} />}
        </div>
        <section className="card self-start" aria-label="Plan">
          <header>
            <h2>What will happen</h2>
          </header>
          <div className="grid gap-2 p-3.5">
            {plan && <PlanView plan={plan} errors={bad} />}
            {plan?.refused && <p className="text-warn">{plan.refused}</p>}
            <Moved found={found} />
          </div>
        </section>
      </div>
      <StepFoot back={{ to: `${stepPath(found, "check")}${leaveOut ? "?leave_out=1" : ""}`, text: "Check" }} about={why}>
        <button type="button" className="btn pri" disabled={running || why !== null} title={why ?? undefined} onClick={go}>
          Commit {plural(found.rows_good ?? 0, "row")} <kbd aria-hidden="true">{shownKeys("mod+Enter")}</kbd>
        </button>
      </StepFoot>
    </>
  );
}

/** As the address says; else create for a set without tasks, add or update for one with. */
function modeOf(text: string | null, found: ImportOut): ImportMode {
  const known = MODES.find(([mode]) => mode === text);
  return known ? known[0] : found.plans.create?.refused ? "merge" : "create";
}

function Verbs({ found, mode, disabled, onChoose }: { found: ImportOut; mode: ImportMode; disabled: boolean; onChoose: (mode: ImportMode) => void }) {
  return (
    <fieldset className="card grid gap-1 p-3.5" disabled={disabled}>
      <legend className="sr-only">What to do with the rows</legend>
      {MODES.map(([each, text, about]) => (
        <label key={each} className="verb">
          <input type="radio" name="mode" value={each} checked={each === mode} disabled={Boolean(found.plans[each]?.refused)} onChange={() => onChoose(each)} />
          <b>{text}</b>
          <span className="text-text-2">{found.plans[each]?.refused ?? about}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** The plan was made against a head; when that moved, the counts may be others, and checking again tells. */
function Moved({ found }: { found: ImportOut }) {
  const set = useQuery({ ...tasksetQuery(found.taskset ?? ""), enabled: found.taskset !== null && found.status === "checked" });
  const client = useQueryClient();
  const again = useMutation({
    mutationFn: () => api<ImportOut>(`/api/imports/${found.id}/mapping`, { method: "PUT", body: found.mapping, repeatable: true }),
    onSuccess: (checking) => client.setQueryData(importQuery(found.id).queryKey, checking),
  });
  const head = set.data?.head?.number ?? null;
  const against = found.plan?.against ?? null;
  if (set.data === undefined || head === against) return null;
  return (
    <div className="grid gap-2 text-warn" role="status">
      <p>
        {set.data.title} is now at v{head}; this plan was made against {against === null ? "an empty set" : `v${against}`}.
      </p>
      <button type="button" className="btn" disabled={again.isPending} onClick={() => again.mutate()}>
        Check again
      </button>
      {again.error && <Failed what="Could not check again" error={again.error} />}
    </div>
  );
}

interface CommitBody {
  mode: ImportMode;
  message: string;
  tag: string | null;
  leave_out_bad: boolean;
}

/** The answer comes at the end; until then the import's own progress is looked at. */
function useCommit(found: ImportOut) {
  const client = useQueryClient();
  const look = () => void client.invalidateQueries({ queryKey: importQuery(found.id).queryKey });
  return useMutation({
    mutationFn: async (body: CommitBody) => {
      const timer = setTimeout(look, 300);
      try {
        return await api<UploadOut>(`/api/imports/${found.id}/commit`, { method: "POST", body });
      } finally {
        clearTimeout(timer);
      }
    },
    onSettled: look,
  });
}

/** Once it is done, here or elsewhere: on to what it changed. */
function useLanding(found: ImportOut) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const { status, taskset, result } = found;
  useEffect(() => {
    if (status !== "done" || !taskset) return;
    void client.invalidateQueries({ queryKey: ["tasksets"] });
    sessionStorage.removeItem(`proctor.mapping.${found.id}`);
    toast(said(result));
    void navigate(outcomePath(taskset, result), { replace: true });
  }, [status, taskset, result, client, navigate, found.id]);
}

function said(result: ImportOut["result"]): string {
  if (!result) return "Imported";
  const parts = [result.created && `${plural(result.created, "task")} new`, result.updated && `${plural(result.updated, "task")} changed`, result.removed && `${plural(result.removed, "task")} removed`].filter(Boolean);
  return parts.length && result.version_number ? `v${result.version_number}: ${parts.join(", ")}` : "Nothing changed, no new version";
}
