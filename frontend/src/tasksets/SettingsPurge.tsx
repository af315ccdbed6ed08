/** Settings: purge an archived taskset. One types its name; the answer says what went and what now points to nothing. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { FormEvent } from "react";
import { api } from "../api/client";
import type { PurgeOut, TasksetOut } from "../api/types";
import { useIsAdmin } from "../shell/admin";
import { plural } from "../ui/formats";
import { Failed } from "../ui/Notices";
import { Dialog } from "../ui/Overlays";
import { Time } from "../ui/Time";

export function Purge({ set }: { set: TasksetOut }) {
  const [asking, ask] = useState(false);
  const admin = useIsAdmin();
  const client = useQueryClient();
  const purge = useMutation({
    mutationFn: (confirm: string) => api<PurgeOut>(`/api/tasksets/${set.id}/purge`, { method: "POST", body: { confirm } }),
    onSuccess: async () => {
      ask(false);
      await client.invalidateQueries({ queryKey: ["tasksets"] });
    },
  });
  const why = !admin ? "Only admins can purge." : !set.archived_at ? "Archive it first." : "";
  if (purge.data) return <p role="status">{purgedInWords(purge.data)}</p>;
  if (set.purged_at) return <p>Purged <Time at={set.purged_at} />.</p>;
  return (
    <div className="flex flex-wrap items-center gap-3">
      <button type="button" className="btn danger" disabled={why !== ""} title={why} onClick={() => ask(true)}>
        Purge {set.title}…
      </button>
      <span className="text-12 text-text-2">{why}</span>
      {asking && <Ask set={set} busy={purge.isPending} error={purge.error} onPurge={(name) => purge.mutate(name)} onClose={() => ask(false)} />}
    </div>
  );
}

function Ask({ set, busy, error, onPurge, onClose }: { set: TasksetOut; busy: boolean; error: Error | null; onPurge: (name: string) => void; onClose: () => void }) {
  const [typed, type] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onPurge(typed);
  };
  return (
    <Dialog open onClose={onClose} title={`Purge ${set.title}`} about="Its tasks are deleted for good, in every version. Jobs keep their results; what they asked is gone.">
      <form className="grid gap-3" onSubmit={submit}>
        <label className="grid gap-1 font-medium">
          <span>
            Type <code>{set.name}</code> to purge it
          </span>
          <input className="box" value={typed} onChange={(event) => type(event.target.value)} autoFocus autoComplete="off" />
        </label>
        {error && <Failed what="Could not purge" error={error} />}
        <div className="flex justify-end gap-2">
          <button type="button" className="btn" onClick={onClose}>
            Keep it
          </button>
          <button type="submit" className="btn danger" disabled={typed !== set.name || busy}>
            Purge {plural(set.head?.number ?? 0, "version")} of {set.title}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function purgedInWords(done: PurgeOut): string {
  const breaks = Object.entries(done.breaks).map(([kind, number]) => `${number} ${kind}`).join(", ");
  return `Purged: ${plural(done.contents, "content")} of ${plural(done.versions, "version")}.${breaks ? ` Still naming it: ${breaks}.` : ""}`;
}
