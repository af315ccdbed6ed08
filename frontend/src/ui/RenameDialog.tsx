/** Gives a thing another name: one field, `⌘↵` or Enter saves. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { api } from "../api/client";
import { Failed } from "./Notices";
import { Dialog } from "./Overlays";

interface Props<T> {
  what: string;
  path: string;
  name: string;
  stale: string[];
  onClose: () => void;
  onDone?: (changed: T) => void;
}

export function RenameDialog<T>({ what, path, name, stale, onClose, onDone }: Props<T>) {
  const client = useQueryClient();
  const rename = useMutation({
    mutationFn: (next: string) => api<T>(path, { method: "PATCH", body: { name: next } }),
    onSuccess: async (changed) => {
      onDone?.(changed);
      await client.invalidateQueries({ queryKey: stale });
      onClose();
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    rename.mutate(String(new FormData(event.currentTarget).get("name")));
  };
  return (
    <Dialog open onClose={onClose} title={`Rename ${what}`}>
      <form className="grid gap-3" onSubmit={submit}>
        <label className="grid gap-1 font-medium">
          Name
          <input className="box" name="name" defaultValue={name} required maxLength={255} autoFocus onFocus={(event) => event.target.select()} />
        </label>
        {rename.error && <Failed what="Could not rename" error={rename.error} />}
        <div className="flex justify-end gap-2">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn pri" disabled={rename.isPending}>
            Rename
          </button>
        </div>
      </form>
    </Dialog>
  );
}
