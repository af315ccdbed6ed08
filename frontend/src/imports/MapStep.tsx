/** The second step: what the columns become, tried on the first rows while one changes it. Unsaved changes survive a reload of the tab. */
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useNavigate } from "react-router";
import { api } from "../api/client";
import type { ImportOut, Mapping, PreviewOut } from "../api/types";
import { Icon } from "../ui/Icon";
import { shownKeys, useKeys } from "../ui/keys";
import { Failed, Skeleton } from "../ui/Notices";
import { Constants, Reading } from "./MapRest";
import { MapTable } from "./MapTable";
import type { Plan } from "./mapping";
import { faultsOf, mappingOf, planOf, refit } from "./mapping";
import { newImport, stepPath } from "./paths";
import { importQuery } from "./queries";
import { Preview } from "./Preview";
import { StepFoot } from "./StepFoot";

const WAIT_MS = 250;

export function MapStep({ found }: { found: ImportOut }) {
  const [edited, setEdited] = useDraft(found.id);
  const begin = edited ?? found.mapping ?? found.guess;
  const tried = useTrial(found.id, begin);
  const columns = tried.data?.columns.length ? tried.data.columns : found.columns;
  const plan = planOf(begin, columns);
  const change = (next: Plan) => setEdited(mappingOf(next));
  const isSaved = found.remembered && begin.options.delimiter === found.guess.options.delimiter;
  const guess = planOf(isSaved ? found.guess : (tried.data?.guess ?? found.guess), columns);
  const check = useCheck(found);
  const faults = faultsOf(plan);
  const go = () => faults.length === 0 && check.mutate(mappingOf(plan));
  useKeys("Mapping", [{ keys: "mod+Enter", what: "Check the file", run: go, typing: true }]);
  const readAnew = useReadAnew(found.id, setEdited);
  const unreadable = tried.data?.error ?? null;
  return (
    <>
      <div className="import-body">
        <div className="import-main">
          {readAnew.error && <Failed what="Could not read it in that way" error={readAnew.error} />}
          {unreadable !== null ? (
            <Failed what="The file can't be read so" error={new Error(unreadable)} />
          ) : found.format === "zip" && found.layout === "tasks" ? (
            <Folders note={found.note} />
          ) : plan.wholeRows ? (
            <WholeRows onChange={() => change({ ...planOf(tried.data?.guess ?? found.guess, columns), wholeRows: false })} />
          ) : (
            <MapTable plan={plan} guess={guess} remembered={isSaved} firstCells={tried.data?.preview[0]?.cells ?? {}} onChange={change} />
          )}
          {tried.error ? (
            <Failed what="Could not try the mapping" error={tried.error} retry={() => void tried.refetch()} />
          ) : tried.data ? (
            unreadable === null && <Preview rows={tried.data.preview} stale={tried.isFetching} />
          ) : (
            <Skeleton />
          )}
        </div>
        <div className="grid content-start gap-4">
          {found.remembered && tried.data?.guess && (
            <section className="card grid gap-2 p-3.5" aria-label="Remembered mapping">
              <p>The mapping last used for this taskset fits this file.</p>
              <div className="flex gap-2">
                <button type="button" className="btn" onClick={() => setEdited(tried.data.guess as Mapping)}>
                  Guess from the file instead
                </button>
                <button type="button" className="btn ghost" onClick={() => setEdited(null)}>
                  As last time
                </button>
              </div>
            </section>
          )}
          {!plan.wholeRows && found.format !== "zip" && unreadable === null && <Constants plan={plan} onChange={change} />}
          <Reading found={found} options={plan.options} onChange={(options) => readAnew.mutate({ ...mappingOf(plan), options })} />
        </div>
      </div>
      {check.error && <Failed what="Could not check the file" error={check.error} />}
      <StepFoot back={{ to: newImport(found.taskset), text: "Another file" }} about={<span aria-live="polite">{faults[0] ?? "Nothing is stored in the taskset before you commit."}</span>}>
        <button type="button" className="btn pri" disabled={faults.length > 0 || check.isPending || unreadable !== null} title={faults[0]} onClick={go}>
          Check <kbd aria-hidden="true">{shownKeys("mod+Enter")}</kbd>
        </button>
      </StepFoot>
    </>
  );
}

/** The mapping as it stands in this tab; null: as the server has it. */
function useDraft(id: string) {
  const key = `proctor.mapping.${id}`;
  const [draft, setDraft] = useState<Mapping | null>(() => JSON.parse(sessionStorage.getItem(key) ?? "null") as Mapping | null);
  const keep = (next: Mapping | null) => {
    setDraft(next);
    if (next) sessionStorage.setItem(key, JSON.stringify(next));
    else sessionStorage.removeItem(key);
  };
  return [draft, keep] as const;
}

/** The first rows as this mapping makes them, a moment after the last change. */
function useTrial(id: string, mapping: Mapping) {
  const [settled, settle] = useState(mapping);
  const text = JSON.stringify(mapping);
  useEffect(() => {
    const timer = setTimeout(() => settle(JSON.parse(text) as Mapping), WAIT_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return useQuery({
    queryKey: ["imports", "trial", id, settled],
    queryFn: ({ signal }) => api<PreviewOut>(`/api/imports/${id}/preview`, { method: "POST", body: settled, signal, repeatable: true }),
    placeholderData: keepPreviousData,
  });
}

/** Other options may cut other columns: what they are is asked for first. */
function useReadAnew(id: string, keep: (mapping: Mapping) => void) {
  return useMutation({
    mutationFn: (mapping: Mapping) => api<PreviewOut>(`/api/imports/${id}/preview`, { method: "POST", body: mapping, repeatable: true }),
    onSuccess: (tried, mapping) => keep(tried.guess ? refit(mapping, tried.columns, tried.guess) : mapping),
  });
}

function useCheck(found: ImportOut) {
  const navigate = useNavigate();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (mapping: Mapping) => api<ImportOut>(`/api/imports/${found.id}/mapping`, { method: "PUT", body: mapping, repeatable: true }),
    onSuccess: (checking) => {
      client.setQueryData(importQuery(found.id).queryKey, checking);
      void navigate(stepPath(found, "check"));
    },
  });
}

function WholeRows({ onChange }: { onChange: () => void }) {
  return (
    <section className="card grid gap-2 p-3.5" aria-label="Rows of tasks">
      <p>The rows are tasks already, so there is nothing to map: slug, environment, id, arguments and columns are taken as they stand.</p>
      <div>
        <button type="button" className="btn" onClick={onChange}>
          Map the columns by hand
        </button>
      </div>
    </section>
  );
}

function Folders({ note }: { note: string | null }) {
  return (
    <section className="card grid gap-2 p-3.5" aria-label="Task folders">
      <p>Each folder becomes a task, and a version of an environment that is named like it.</p>
      {note && (
        <p className="flex gap-2 text-text-2">
          <Icon name="environment" /> {note}
        </p>
      )}
    </section>
  );
}
