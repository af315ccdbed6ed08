/** An environment's variables: names, who set them and when. Values go to sandboxes and are never shown again. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { FormEvent } from "react";
import { api } from "../api/client";
import { variablesQuery } from "../api/queries";
import type { EnvironmentOut, VariableOut } from "../api/types";
import { Icon } from "../ui/Icon";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { Confirm, Dialog } from "../ui/Overlays";
import { Time } from "../ui/Time";
import { toast } from "../ui/toast";
import { useRows } from "../ui/useRows";
import type { Column } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";

export default function VariablesTab({ env }: { env: EnvironmentOut }) {
  const variables = useRows(variablesQuery(env.id));
  const [setting, setSetting] = useState<string | null>(null);
  const [removing, setRemoving] = useState<string | null>(null);
  const add = (
    <button type="button" className="btn pri" onClick={() => setSetting("")}>
      <Icon name="plus" /> Set variable
    </button>
  );
  const columns: Column<VariableOut>[] = [
    { name: "Name", cell: (variable) => <code>{variable.name}</code>, className: "on-phone" },
    { name: "Value", width: 120, cell: () => <span className="text-text-3">not shown</span> },
    {
      name: "Set",
      width: 260,
      className: "on-phone wide",
      cell: (variable) => (
        <span className="text-text-2">
          {variable.updated_by ? `${variable.updated_by}, ` : ""}
          <Time at={variable.updated_at} />
        </span>
      ),
    },
    {
      name: <span className="sr-only">Change</span>,
      width: 190,
      className: "num on-phone",
      cell: (variable) => (
        <>
          <button type="button" className="btn ghost" onClick={() => setSetting(variable.name)} aria-label={`Replace ${variable.name}`}>
            Replace
          </button>
          <button type="button" className="btn ghost danger" onClick={() => setRemoving(variable.name)} aria-label={`Remove ${variable.name}`}>
            Remove
          </button>
        </>
      ),
    },
  ];
  return (
    <>
      <div className="flex items-center gap-3 px-6 py-3 max-md:px-4">
        <p className="grow text-text-2">Every sandbox of this environment gets them. They are encrypted, and a value is never shown again.</p>
        {variables.rows.length > 0 && add}
      </div>
      {variables.error ? (
        <Failed what="Could not load the variables" error={variables.error} retry={variables.retry} />
      ) : variables.loading ? (
        <Skeleton rows={3} />
      ) : (
        <VirtualTable
          label="Variables"
          rows={variables.rows}
          columns={columns}
          keyOf={(variable) => variable.name}
          more={variables.more}
          loadingMore={variables.loadingMore}
          minWidth={680}
          empty={
            <Empty title="No variable yet" action={add} command="hud deploy --env NAME=value">
              Keys and settings that the environment reads from its surroundings, kept out of its image.
            </Empty>
          }
        />
      )}
      {setting !== null && <SetVariable env={env} name={setting} onClose={() => setSetting(null)} />}
      {removing !== null && <RemoveVariable env={env} name={removing} onClose={() => setRemoving(null)} />}
    </>
  );
}

function SetVariable({ env, name, onClose }: { env: EnvironmentOut; name: string; onClose: () => void }) {
  const client = useQueryClient();
  const set = useMutation({
    mutationFn: (values: Record<string, string>) => api(`/api/environments/${env.id}/variables`, { method: "PUT", body: { values } }),
    onSuccess: async (_, values) => {
      await client.invalidateQueries({ queryKey: ["environments", "variables", env.id] });
      toast(`${Object.keys(values)[0] ?? "It"} is set: sandboxes that start from now on get it`);
      onClose();
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    set.mutate({ [String(form.get("name"))]: String(form.get("value")) });
  };
  return (
    <Dialog open onClose={onClose} title={name ? `Replace ${name}` : "Set a variable"} about="A name that is there already gets the new value.">
      <form className="grid gap-3" onSubmit={submit} autoComplete="off">
        <label className="grid gap-1 font-medium">
          Name
          <input className="box mono" name="name" required maxLength={255} pattern="[A-Za-z_][A-Za-z0-9_]*" title="letters, digits and _" defaultValue={name} readOnly={name !== ""} placeholder="API_TOKEN" />
        </label>
        <label className="grid gap-1 font-medium">
          Value
          <textarea className="box mono" name="value" rows={3} maxLength={32768} spellCheck={false} />
        </label>
        {set.error && <Failed what="Could not set it" error={set.error} />}
        <div className="flex justify-end gap-2">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn pri" disabled={set.isPending}>
            Set variable
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function RemoveVariable({ env, name, onClose }: { env: EnvironmentOut; name: string; onClose: () => void }) {
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: () => api(`/api/environments/${env.id}/variables/${encodeURIComponent(name)}`, { method: "DELETE" }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["environments", "variables", env.id] });
      toast(`${name} removed`);
      onClose();
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      title={`Remove ${name}?`}
      about="Sandboxes that start from now on do without it; the value can't be had again."
      keep="Keep variable"
      verb={`Remove ${name}`}
      busy={remove.isPending}
      onConfirm={() => remove.mutate()}
      error={remove.error && <Failed what="Could not remove it" error={remove.error} />}
    />
  );
}
