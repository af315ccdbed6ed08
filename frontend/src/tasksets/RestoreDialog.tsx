/** Restore an old version: says what that changes, asks for a message, makes a new version equal to the old one. */
import { useMutation } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { Link } from "react-router";
import { diffQuery } from "../api/queries";
import type { TasksetOut } from "../api/types";
import { Failed } from "../ui/Notices";
import { Dialog } from "../ui/Overlays";
import { useRows } from "../ui/useRows";
import { countsInWords } from "./changes";
import { useGoingBack } from "./goingBack";
import { diffPath } from "./paths";

export function RestoreDialog({ set, number, onClose }: { set: TasksetOut; number: number; onClose: () => void }) {
  const head = set.head?.number ?? 0;
  const { restore } = useGoingBack(set);
  const restoring = useMutation({ mutationFn: (message: string) => restore(number, message), onSuccess: onClose });
  const changes = useRows(diffQuery(set.id, String(head), String(number), { limit: 1 }));
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    restoring.mutate(String(new FormData(event.currentTarget).get("message")));
  };
  return (
    <Dialog open onClose={onClose} title={`Restore v${number}`} about={`Makes v${head + 1}, equal to v${number}. Nothing is lost: v${head} stays in the list.`}>
      <form className="grid gap-3" onSubmit={submit}>
        <p className="text-text-2">
          {changes.first ? <>Against the head: {countsInWords(changes.first.counts)}. </> : changes.error ? "" : "Counting what changes. "}
          <Link to={diffPath(set, head, number)}>Show the changes</Link>
        </p>
        <label className="grid gap-1 font-medium">
          Message
          <input className="box" name="message" maxLength={1000} placeholder={`Restore version ${number}`} autoFocus />
        </label>
        {(restoring.error || changes.error) && <Failed what={`Could not ${restoring.error ? "restore" : "compare"}`} error={restoring.error ?? changes.error} />}
        <div className="flex justify-end gap-2">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn pri" disabled={restoring.isPending}>
            Restore v{number}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
