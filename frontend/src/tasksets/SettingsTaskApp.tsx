/** Settings: the taskset as a Task App, and the keys that open it. A key's text is shown once. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { FormEvent } from "react";
import { api } from "../api/client";
import { taskAppKeysQuery } from "../api/queries";
import type { TaskAppKeyMade, TaskAppKeyOut, TasksetOut } from "../api/types";
import { Command } from "../ui/Copy";
import { KeyMade, RevokeKey } from "../ui/KeyDialogs";
import { Failed } from "../ui/Notices";
import { Dialog } from "../ui/Overlays";
import { State } from "../ui/State";
import { Time } from "../ui/Time";
import { useRows } from "../ui/useRows";

export function AsTaskApp({ set }: { set: TasksetOut }) {
  const keys = useRows(taskAppKeysQuery(set.id));
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<TaskAppKeyOut | null>(null);
  return (
    <div className="grid gap-3">
      <Command code={`${location.origin}/task-apps/${set.name}`} label="address of the Task App" />
      {keys.error && <Failed what="Could not load the keys" error={keys.error} retry={keys.retry} />}
      <ul className="grid" aria-label="Keys">
        {keys.rows.map((key) => (
          <li key={key.id} className="flex flex-wrap items-center gap-3 border-b border-line py-2 last:border-0">
            <b className="font-medium">{key.name}</b>
            <code>{key.prefix}…</code>
            <span className="text-12 text-text-3">
              used <Time at={key.last_used_at} none="never" />
            </span>
            <span className="grow" />
            {key.revoked_at ? (
              <State kind="can">revoked</State>
            ) : (
              <button type="button" className="btn ghost danger" aria-label={`Revoke ${key.name}`} onClick={() => setRevoking(key)}>
                Revoke
              </button>
            )}
          </li>
        ))}
      </ul>
      <button type="button" className="btn w-fit" onClick={() => setMaking(true)}>
        Make key
      </button>
      {making && <MakeKey set={set} onClose={() => setMaking(false)} />}
      {revoking && <RevokeKey name={revoking.name} path={`/api/tasksets/${set.id}/task-app-keys/${revoking.id}`} method="DELETE" stale={["task-app-keys"]} onClose={() => setRevoking(null)} />}
    </div>
  );
}

function MakeKey({ set, onClose }: { set: TasksetOut; onClose: () => void }) {
  const client = useQueryClient();
  const make = useMutation({
    mutationFn: (name: string) => api<TaskAppKeyMade>(`/api/tasksets/${set.id}/task-app-keys`, { method: "POST", body: { name } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["task-app-keys"] }),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    make.mutate(String(new FormData(event.currentTarget).get("name")));
  };
  if (make.data)
    return (
      <KeyMade name={make.data.key.name} secret={make.data.secret} onClose={onClose}>
        <Command code={`export ENVIRONMENT_API_KEY=${make.data.secret}\nexport TASK_APP_URL=${make.data.url}`} label="environment lines" />
      </KeyMade>
    );
  return (
    <Dialog open onClose={onClose} title="Make a key" about="Whoever has it may read what the tasks are called and run them here, in your name.">
      <form className="grid gap-3" onSubmit={submit}>
        <label className="grid gap-1 font-medium">
          Name
          <input className="box" name="name" required maxLength={100} placeholder="trainer, notebook" autoFocus />
        </label>
        {make.error && <Failed what="Could not make the key" error={make.error} />}
        <div className="flex justify-end gap-2">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn pri" disabled={make.isPending}>
            Make key
          </button>
        </div>
      </form>
    </Dialog>
  );
}
