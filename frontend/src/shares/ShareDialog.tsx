/** Makes a public read-only link: to the newest version or to one for good, with an end or without. The link is shown this once. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { Link } from "react-router";
import { api } from "../api/client";
import type { ShareIn, ShareMade } from "../api/types";
import { Command } from "../ui/Copy";
import { Failed } from "../ui/Notices";
import { Dialog } from "../ui/Overlays";

interface Props {
  kind: string;
  title: string;
  /** The reference that follows the newest version. */
  following: string;
  /** The one that stays at what is looked at, where there is one. */
  pinned: { reference: string; text: string } | null;
  onClose: () => void;
}

const DAY_MS = 86_400_000;
const ENDS: readonly (readonly [string, number | null])[] = [
  ["never", null],
  ["in 7 days", 7],
  ["in 30 days", 30],
  ["in 90 days", 90],
];

export function ShareDialog({ kind, title, following, pinned, onClose }: Props) {
  const client = useQueryClient();
  const make = useMutation({
    mutationFn: (body: ShareIn) => api<ShareMade>("/api/shares", { method: "POST", body }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["shares"] }),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const days = Number(form.get("days"));
    make.mutate({ kind, reference: String(form.get("reference")), expires_at: days ? new Date(Date.now() + days * DAY_MS).toISOString() : null });
  };
  if (make.data) return <Made made={make.data} onClose={onClose} />;
  return (
    <Dialog open onClose={onClose} title={`Share ${title}`} about="Whoever has the link sees the tasks and can download them, without an account. Nobody can change anything, and no names of people are shown.">
      <form className="grid gap-3" onSubmit={submit}>
        <fieldset className="grid gap-1">
          <legend className="mb-1 font-medium">The link shows</legend>
          <label className="flex items-center gap-2">
            <input type="radio" name="reference" value={following} defaultChecked autoFocus /> the newest version, also after later changes
          </label>
          {pinned && (
            <label className="flex items-center gap-2">
              <input type="radio" name="reference" value={pinned.reference} /> {pinned.text} for good, whatever comes later
            </label>
          )}
        </fieldset>
        <label className="grid gap-1 font-medium">
          It ends
          <select className="box" name="days" defaultValue="">
            {ENDS.map(([text, days]) => (
              <option key={text} value={days ?? ""}>
                {text}
              </option>
            ))}
          </select>
        </label>
        {make.error && <Failed what="Could not make the link" error={make.error} />}
        <div className="flex items-center gap-2">
          <Link className="grow" to="/settings/shares">
            All share links
          </Link>
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn pri" disabled={make.isPending}>
            Make link
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Made({ made, onClose }: { made: ShareMade; onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title={`Link to ${made.title} made`} about={`It shows ${made.pinned ? `${made.reference} for good` : "the newest version"}. Copy it now: it is not shown again.`} wide>
      <div className="grid gap-3">
        <Command code={made.url} label="link" />
        <div className="flex items-center gap-2">
          <Link className="grow" to="/settings/shares">
            All share links, to revoke them
          </Link>
          <button type="button" className="btn pri" onClick={onClose}>
            I have copied it
          </button>
        </div>
      </div>
    </Dialog>
  );
}
