/** The bar that stays while the person has a draft: what is in it, and what can be done with it. Absent when there is none. */
import { useState } from "react";
import { Link } from "react-router";
import type { TasksetOut } from "../api/types";
import { plural } from "../ui/formats";
import { shownKeys, useKeys } from "../ui/keys";
import { Failed } from "../ui/Notices";
import { Confirm } from "../ui/Overlays";
import { Time } from "../ui/Time";
import { draftInWords, holdsEdits, MARK } from "./changes";
import { CommitDialog } from "./CommitDialog";
import { useDiscarding, useDraft } from "./draft";

export function DraftBar({ set }: { set: TasksetOut }) {
  const draft = useDraft(set);
  const [asking, ask] = useState<"commit" | "discard" | null>(null);
  const there = holdsEdits(draft);
  useKeys("Draft", there ? [{ keys: "mod+Enter", what: "Commit the draft…", run: () => ask((now) => now ?? "commit") }] : []);
  if (!there) return null;
  const behind = draft.base_number !== draft.head_number;
  return (
    <section className="foot" aria-label="Draft">
      <span className={`dm ${MARK.changed.className}`} aria-hidden="true">
        {MARK.changed.sign}
      </span>
      <span>
        <b className="font-semibold">Draft on v{draft.base_number ?? 0}:</b> {draftInWords(draft)}.{" "}
        <span className="desk text-text-2">
          Saved <Time at={draft.saved_at} />, only you see it.
        </span>
      </span>
      {behind && <span className="tag">the head is v{draft.head_number} now</span>}
      {draft.conflict_count > 0 && <span className="tag warn">{plural(draft.conflict_count, "conflict")}</span>}
      <span className="grow" />
      <button type="button" className="btn ghost" onClick={() => ask("discard")}>
        Discard…
      </button>
      <Link className="btn" to={`/tasksets/${set.id}/draft`}>
        Review changes
      </Link>
      <button type="button" className="btn pri" onClick={() => ask("commit")}>
        Commit v{(draft.head_number ?? 0) + 1}… <kbd>{shownKeys("mod+Enter")}</kbd>
      </button>
      {asking === "commit" && <CommitDialog set={set} onClose={() => ask(null)} />}
      {asking === "discard" && <DiscardDialog set={set} about={draftInWords(draft)} onClose={() => ask(null)} />}
    </section>
  );
}

export function DiscardDialog({ set, about, onClose, onDone }: { set: TasksetOut; about: string; onClose: () => void; onDone?: () => void }) {
  const discarding = useDiscarding(set);
  const confirm = () =>
    discarding.mutate(undefined, {
      onSuccess: () => {
        onClose();
        onDone?.();
      },
    });
  return (
    <Confirm
      open
      onClose={onClose}
      title="Discard the draft"
      about={`${about}. This can't be taken back; the taskset stays as it is.`}
      keep="Keep it"
      verb={`Discard the draft of ${set.title}`}
      busy={discarding.isPending}
      error={discarding.error && <Failed what="Could not discard" error={discarding.error} />}
      onConfirm={confirm}
    />
  );
}
