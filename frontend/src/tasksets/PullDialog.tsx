/** A taskset from another Proctor by reference: where, which, with which key; progress while it comes, and the refusal when it is not what was promised. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { FormEvent } from "react";
import { useNavigate } from "react-router";
import { api } from "../api/client";
import type { TasksetPullIn, TasksetOut, UploadOut } from "../api/types";
import { ProgressBar } from "../imports/ProgressBar";
import { importQuery } from "../imports/queries";
import { ImportState } from "../imports/words";
import { newId } from "../ui/formats";
import { Failed } from "../ui/Notices";
import { Dialog } from "../ui/Overlays";
import { toast } from "../ui/toast";

const POLL_MS = 500;

/** `set`: the one whose tasks become those of the other Proctor's version; without it a new one is made. */
export function PullDialog({ set, onClose }: { set?: TasksetOut; onClose: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [id, setId] = useState(newId);
  const pull = useMutation({
    mutationFn: (body: TasksetPullIn) => api<UploadOut>("/api/tasksets/pull", { method: "POST", body }),
    onSuccess: async (done) => {
      await client.invalidateQueries({ queryKey: ["tasksets"] });
      toast(done.version ? `${done.taskset.title} is at v${done.version.number} with the other Proctor's digest` : "Pulled");
      onClose();
      void navigate(`/tasksets/${done.taskset.id}`);
    },
    onError: () => setId(newId()),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    pull.mutate({ id, url: text("url"), reference: text("reference"), key: text("key"), name: set?.name ?? (text("name") || null) });
  };
  const about = set
    ? `The tasks of ${set.title} become those of the other Proctor's version, as a new version. Nothing is lost: the versions before stay.`
    : "All or nothing: what comes must have the digest that the other Proctor promises.";
  return (
    <Dialog open onClose={pull.isPending ? () => undefined : onClose} title="Pull from another Proctor" about={about}>
      <form className="grid gap-3" onSubmit={submit}>
        <label className="grid gap-1 font-medium">
          Its address
          <input className="box" name="url" type="url" required maxLength={1000} placeholder="https://proctor.example.org" autoFocus />
        </label>
        <label className="grid gap-1 font-medium">
          Taskset there
          <input className="box mono" name="reference" required maxLength={500} placeholder="name, name@3, name@tag or name@sha256:…" />
        </label>
        <label className="grid gap-1 font-medium">
          API key of that Proctor
          <input className="box mono" name="key" type="password" maxLength={500} autoComplete="off" />
          <span className="text-12 font-normal text-text-3">With the scope read. Used once, kept nowhere.</span>
        </label>
        {!set && (
          <label className="grid gap-1 font-medium">
            Name here
            <input className="box" name="name" maxLength={255} placeholder="the same as there" />
            <span className="text-12 font-normal text-text-3">The name of a taskset that is here replaces its tasks by a new version.</span>
          </label>
        )}
        {pull.isPending && <Coming id={id} />}
        {pull.error && <Failed what="Nothing was pulled" error={pull.error} />}
        <div className="flex justify-end gap-2">
          {!pull.isPending && (
            <button type="button" className="btn" onClick={onClose}>
              Close
            </button>
          )}
          <button type="submit" className="btn pri" disabled={pull.isPending}>
            Pull
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** The pull's import, once it has begun. */
function Coming({ id }: { id: string }) {
  const found = useQuery({ ...importQuery(id), refetchInterval: POLL_MS, retry: false });
  const cancel = useMutation({ mutationFn: () => api(`/api/imports/${id}/cancel`, { method: "POST", repeatable: true }) });
  return (
    <div className="grid gap-2" role="status">
      <div className="flex items-center gap-2">
        {found.data ? <ImportState found={found.data} /> : "Asking the other Proctor"}
        <span className="grow" />
        {found.data && (
          <button type="button" className="btn ghost" disabled={cancel.isPending} onClick={() => cancel.mutate()}>
            Cancel the pull
          </button>
        )}
      </div>
      {found.data && <ProgressBar label="Pulled" value={found.data.progress} max={1} />}
    </div>
  );
}
