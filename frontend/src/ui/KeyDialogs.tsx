/** What all keys have in common: their text is shown once, and they can be revoked. */
import type { QueryKey } from "@tanstack/react-query";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api } from "../api/client";
import { Command } from "./Copy";
import { Failed } from "./Notices";
import { Confirm, Dialog } from "./Overlays";
import { toast } from "./toast";

/** `children`: what the key is for, ready to copy. */
export function KeyMade({ name, secret, onClose, children }: { name: string; secret: string; onClose: () => void; children: ReactNode }) {
  return (
    <Dialog open onClose={onClose} title={`Key ${name} made`} about="Copy the secret now: it is not shown again." wide>
      <div className="grid gap-3">
        <Command code={secret} label="secret" />
        {children}
        <div className="flex justify-end">
          <button type="button" className="btn pri" onClick={onClose}>
            I have copied it
          </button>
        </div>
      </div>
    </Dialog>
  );
}

export function RevokeKey({ name, path, method, stale, onClose }: { name: string; path: string; method: "POST" | "DELETE"; stale: QueryKey; onClose: () => void }) {
  const client = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => api(path, { method, repeatable: true }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: stale });
      toast(`Key ${name} revoked`);
      onClose();
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      title={`Revoke ${name}?`}
      about="Whoever uses it gets 401 from now on. This cannot be undone; a new key can be made."
      keep="Keep key"
      verb={`Revoke ${name}`}
      busy={revoke.isPending}
      onConfirm={() => revoke.mutate()}
      error={revoke.error && <Failed what="Could not revoke the key" error={revoke.error} />}
    />
  );
}
