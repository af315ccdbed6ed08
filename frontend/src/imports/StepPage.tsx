/** An import at one of its steps: head with the file's facts, stepper, the step. Steps that can't be yet, or any more, lead to the one that can. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, Navigate, useNavigate, useParams } from "react-router";
import { api } from "../api/client";
import type { ImportOut } from "../api/types";
import { Load } from "../shell/Load";
import { bytes, plural } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { Failed } from "../ui/Notices";
import { Confirm } from "../ui/Overlays";
import { PageHead } from "../ui/Page";
import { Time } from "../ui/Time";
import { CheckStep } from "./CheckStep";
import { CommitStep } from "./CommitStep";
import { MapStep } from "./MapStep";
import { importsOf, newImport, placeOf, reportPath } from "./paths";
import type { Step } from "./paths";
import { importQuery } from "./queries";
import { Stepper } from "./Stepper";
import { ImportState, LAYOUTS } from "./words";

export default function StepPage() {
  const { import: id = "", step = "" } = useParams();
  const found = useQuery(importQuery(id));
  if (!found.data) return <Load what="import" error={found.error} retry={() => void found.refetch()} />;
  const here = found.data;
  if (step !== "map" && step !== "check" && step !== "commit") return <Navigate to={placeOf(here)} replace />;
  if (here.status === "cancelled" || (here.status === "done" && step !== "commit")) return <Navigate to={reportPath(here)} replace />;
  if (step !== "map" && here.mapping === null) return <Navigate to={placeOf(here)} replace />;
  return (
    <main id="main" className="page fill">
      <Head key={step} found={here} />
      <Stepper step={step as Step} found={here} />
      {step === "map" && <MapStep key={here.id} found={here} />}
      {step === "check" && <CheckStep found={here} />}
      {step === "commit" && <CommitStep found={here} />}
    </main>
  );
}

function Head({ found }: { found: ImportOut }) {
  const [asking, ask] = useState(false);
  const set = found.taskset;
  const away = set ? importsOf(set) : "/tasksets/import";
  const trail = [{ to: "/tasksets", text: "Tasksets" }, ...(set ? [{ to: `/tasksets/${set}`, text: found.name ?? "taskset" }, { to: importsOf(set), text: "Imports" }] : [{ to: newImport(null), text: "Import" }])];
  return (
    <>
      <PageHead
        title={`Import into ${found.name ?? "a new taskset"}`}
        fullTitle={found.filename}
        trail={trail}
        state={<ImportState found={found} />}
        meta={
          <>
            <span>
              <Icon name="file" /> {found.filename}
            </span>
            <span className="tnum">
              {bytes(found.size_bytes)}
              {found.rows_total !== null && `, ${plural(found.rows_total, "row")}`}
            </span>
            <span>
              {found.format.toUpperCase()}, {LAYOUTS[found.layout]}
            </span>
            <span>
              kept until <Time at={found.expires_at} />
            </span>
          </>
        }
        actions={
          <>
            <button type="button" className="btn ghost" disabled={found.status === "committing"} onClick={() => ask(true)}>
              Discard…
            </button>
            <Link className="btn" to={away}>
              Close, keep for 24 h
            </Link>
          </>
        }
      />
      {asking && <Discard found={found} away={away} onClose={() => ask(false)} />}
    </>
  );
}

function Discard({ found, away, onClose }: { found: ImportOut; away: string; onClose: () => void }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => api<ImportOut>(`/api/imports/${found.id}/cancel`, { method: "POST", body: {} }),
    onSuccess: async () => {
      await navigate(away);
      await client.invalidateQueries({ queryKey: ["imports"] });
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      title="Discard this import?"
      about={`${found.filename} and the changes made here go. The taskset stays as it is.`}
      keep="Keep it"
      verb={`Discard ${found.filename}`}
      busy={cancel.isPending}
      error={cancel.error ? <Failed what="Could not discard it" error={cancel.error} /> : null}
      onConfirm={() => cancel.mutate()}
    />
  );
}
