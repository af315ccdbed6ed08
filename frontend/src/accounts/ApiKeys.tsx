/** API keys: make one (the secret is shown this once), see when it was used, revoke it. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { FormEvent } from "react";
import { api } from "../api/client";
import { keysQuery } from "../api/queries";
import type { KeyIn, KeyMade, KeyOut } from "../api/types";
import { Command } from "../ui/Copy";
import { Icon } from "../ui/Icon";
import { KeyMade as MadeDialog, RevokeKey } from "../ui/KeyDialogs";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { Dialog } from "../ui/Overlays";
import { PageHead } from "../ui/Page";
import { State } from "../ui/State";
import { Time } from "../ui/Time";
import { connectLines, hud, rest, UseFromCode } from "../ui/UseFromCode";
import { useRows } from "../ui/useRows";
import type { Column } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";

const SCOPES = { read: "read everything", write: "upload tasksets and environments", run: "start and cancel jobs, report runs", admin: "manage keys, models and members" } as const;
type Scope = keyof typeof SCOPES;

export default function ApiKeys() {
  const keys = useRows(keysQuery());
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<KeyOut | null>(null);
  const columns: Column<KeyOut>[] = [
    { name: "Name", cell: (key) => <b className="font-medium">{key.name}</b>, className: "on-phone" },
    { name: "Key", width: 140, cell: (key) => <code>{key.prefix}…</code> },
    { name: "May", width: 180, cell: (key) => <span className="text-text-2">{key.scopes.join(", ")}</span> },
    { name: "Made", width: 200, cell: (key) => <span className="text-text-2">{key.created_by ? `${key.created_by}, ` : ""}<Time at={key.created_at} /></span>, className: "on-phone wide" },
    { name: "Last used", width: 150, cell: (key) => <span className="text-text-2"><Time at={key.last_used_at} none="never" /></span> },
    {
      name: <span className="sr-only">Revoke</span>,
      width: 120,
      className: "num on-phone",
      cell: (key) =>
        key.revoked_at ? (
          <State kind="can">revoked</State>
        ) : (
          <button type="button" className="btn ghost danger" onClick={() => setRevoking(key)} aria-label={`Revoke ${key.name}`}>
            Revoke
          </button>
        ),
    },
  ];
  return (
    <main id="main" className="page fill">
      <PageHead
        title="API keys"
        trail={[{ text: "Settings" }]}
        meta={<span>Keys for the SDK, the hud command and REST. A key acts for this team.</span>}
        actions={
          <>
            <UseFromCode snippets={[rest("/api/keys"), hud("hud set HUD_API_KEY=…")]} />
            <button type="button" className="btn pri" onClick={() => setMaking(true)}>
              <Icon name="plus" /> Make key
            </button>
          </>
        }
      />
      {keys.error ? (
        <Failed what="Could not load the keys" error={keys.error} retry={keys.retry} />
      ) : keys.loading ? (
        <Skeleton />
      ) : (
        <VirtualTable
          label="API keys"
          rows={keys.rows}
          columns={columns}
          keyOf={(key) => key.id}
          more={keys.more}
          loadingMore={keys.loadingMore}
          minWidth={820}
          empty={
            <Empty title="No key yet" action={<button type="button" className="btn" onClick={() => setMaking(true)}>Make key</button>}>
              With a key the SDK and the hud command can upload tasks and run them here.
            </Empty>
          }
        />
      )}
      {making && <MakeKey onClose={() => setMaking(false)} />}
      {revoking && <RevokeKey name={revoking.name} path={`/api/keys/${revoking.id}/revoke`} method="POST" stale={["keys"]} onClose={() => setRevoking(null)} />}
    </main>
  );
}

function MakeKey({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const make = useMutation({
    mutationFn: (body: KeyIn) => api<KeyMade>("/api/keys", { method: "POST", body }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["keys"] }),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    make.mutate({ name: String(form.get("name")), scopes: form.getAll("scope") as Scope[] });
  };
  if (make.data) return <Made made={make.data} onClose={onClose} />;
  return (
    <Dialog open onClose={onClose} title="Make an API key" about="The secret is shown once, right after.">
      <form className="grid gap-3" onSubmit={submit}>
        <label className="grid gap-1 font-medium">
          Name
          <input className="box" name="name" required maxLength={100} placeholder="laptop, CI, notebook" autoFocus />
        </label>
        <fieldset className="grid gap-1">
          <legend className="mb-1 font-medium">It may</legend>
          {(Object.keys(SCOPES) as Scope[]).map((scope) => (
            <label key={scope} className="flex items-center gap-2">
              <input type="checkbox" name="scope" value={scope} defaultChecked={scope !== "admin"} />
              {scope} <span className="text-text-3">{SCOPES[scope]}</span>
            </label>
          ))}
        </fieldset>
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

function Made({ made, onClose }: { made: KeyMade; onClose: () => void }) {
  return (
    <MadeDialog name={made.name} secret={made.secret} onClose={onClose}>
      <div className="grid gap-1">
        <h3>For the SDK and the hud command</h3>
        <Command code={connectLines(made.secret)} label="environment lines" />
      </div>
    </MadeDialog>
  );
}
