/** Commit a draft as one version: a message, a tag if wanted. Conflicts that are still open are named, with the way to them. */
import type { FormEvent } from "react";
import { Link } from "react-router";
import { ApiError } from "../api/client";
import type { TasksetOut } from "../api/types";
import { Failed } from "../ui/Notices";
import { Dialog } from "../ui/Overlays";
import { useSubmitKey } from "../ui/useSubmitKey";
import { draftInWords } from "./changes";
import type { Decisions } from "./decisions";
import { openConflicts, UNDECIDED } from "./decisions";
import { useCommitting, useDraft } from "./draft";

interface Props {
  set: TasksetOut;
  decisions?: Decisions;
  onClose: () => void;
  onDone?: () => void;
}

export function CommitDialog({ set, decisions = UNDECIDED, onClose, onDone }: Props) {
  const draft = useDraft(set);
  const committing = useCommitting(set);
  const form = useSubmitKey("Commit");
  const next = (set.head?.number ?? 0) + 1;
  const open = draft ? openConflicts(draft, decisions) : 0;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const given = { message: String(fields.get("message")), tag: String(fields.get("tag")).trim(), ...decisions };
    committing.mutate(given, {
      onSuccess: () => {
        onClose();
        onDone?.();
      },
    });
  };
  const clash = open > 0 || (committing.error instanceof ApiError && committing.error.code === "draft_conflict");
  return (
    <Dialog open onClose={onClose} title={`Commit v${next}`} about={draft ? `${draftInWords(draft)}, on top of v${draft.head_number ?? 0}.` : "Nothing is drafted."}>
      <form ref={form} className="grid gap-3" onSubmit={submit}>
        <label className="grid gap-1 font-medium">
          Message
          <input className="box" name="message" maxLength={1000} placeholder="what changed and why" autoFocus />
        </label>
        <label className="grid gap-1 font-medium">
          Tag, if it should have one
          <input className="box" name="tag" maxLength={64} pattern="[a-z0-9][a-z0-9._\-]*" title="a to z, 0 to 9, dot, dash, underscore" placeholder="none" autoComplete="off" />
        </label>
        {clash && (
          <p className="banner warn rounded-2">
            The head changed what you changed too. <Link to={`/tasksets/${set.id}/draft`}>Review the conflicts</Link>
          </p>
        )}
        {committing.error && <Failed what="Could not commit" error={committing.error} />}
        <div className="flex justify-end gap-2">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn pri" disabled={committing.isPending || !draft || open > 0}>
            Commit v{next}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
