/** Model endpoints: where a model name is served, and with which key. An exact name wins over a pattern. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { FormEvent } from "react";
import { useParams } from "react-router";
import { api } from "../api/client";
import { modelsQuery } from "../api/queries";
import type { ModelEndpointIn, ModelEndpointOut } from "../api/types";
import { Icon } from "../ui/Icon";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { Confirm, Dialog } from "../ui/Overlays";
import { PageHead } from "../ui/Page";
import { Time } from "../ui/Time";
import { toast } from "../ui/toast";
import { hud, rest, UseFromCode } from "../ui/UseFromCode";
import { useRows } from "../ui/useRows";
import type { Column } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";

export default function Models() {
  const { id } = useParams();
  const models = useRows(modelsQuery());
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<ModelEndpointOut | null>(null);
  const columns: Column<ModelEndpointOut>[] = [
    { name: "Model", width: 240, className: "on-phone", cell: (model) => <b className="mono">{model.pattern}</b> },
    { name: "Served at", className: "on-phone wide", cell: (model) => <code className="text-text-2">{model.base_url}</code> },
    { name: "Key", width: 100, cell: (model) => (model.has_key ? <span className="tag good">set</span> : <span className="tag">none</span>) },
    { name: "Headers", width: 180, cell: (model) => <span className="text-text-2">{model.header_names.join(", ") || "–"}</span> },
    { name: "Added", width: 200, className: "num", cell: (model) => <span className="text-text-2">{model.created_by ? `${model.created_by}, ` : ""}<Time at={model.created_at} /></span> },
    {
      name: <span className="sr-only">Remove</span>,
      width: 120,
      className: "num on-phone",
      cell: (model) => (
        <button type="button" className="btn ghost danger" onClick={() => setRemoving(model)} aria-label={`Remove ${model.pattern}`}>
          Remove
        </button>
      ),
    },
  ];
  const add = (
    <button type="button" className="btn pri" onClick={() => setAdding(true)}>
      <Icon name="plus" /> Add endpoint
    </button>
  );
  return (
    <main id="main" className="page fill">
      <PageHead
        title="Models"
        meta={<span>Where the models of this team are served. Keys and header values are kept encrypted and never shown again.</span>}
        actions={
          <>
            <UseFromCode snippets={[rest("/api/models"), rest("/gateway/chat/completions", "POST", '{"model": "MODEL", "messages": [{"role": "user", "content": "Hello"}]}'), hud("hud models list")]} />
            {add}
          </>
        }
      />
      {id && !models.loading && !models.rows.some((model) => model.id === id || model.pattern === id) && (
        <div className="banner warn">
          <Icon name="warn" /> No model endpoint has the id {id}. These are the ones there are.
        </div>
      )}
      {models.error ? (
        <Failed what="Could not load the models" error={models.error} retry={models.retry} />
      ) : models.loading ? (
        <Skeleton />
      ) : (
        <VirtualTable
          label="Model endpoints"
          rows={models.rows}
          columns={columns}
          keyOf={(model) => model.id}
          selected={(model) => model.id === id || model.pattern === id}
          more={models.more}
          loadingMore={models.loadingMore}
          minWidth={900}
          empty={
            <Empty title="No model endpoint yet" action={add}>
              An endpoint is anything that speaks OpenAI chat completions: a provider, a gateway, or a server of your own. Jobs with the replay agent need none.
            </Empty>
          }
        />
      )}
      {adding && <AddEndpoint onClose={() => setAdding(false)} />}
      {removing && <RemoveEndpoint model={removing} onClose={() => setRemoving(null)} />}
    </main>
  );
}

function AddEndpoint({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const add = useMutation({
    mutationFn: (body: ModelEndpointIn) => api<ModelEndpointOut>("/api/models", { method: "POST", body }),
    onSuccess: async (made) => {
      await client.invalidateQueries({ queryKey: ["models"] });
      toast(`Endpoint for ${made.pattern} added`);
      onClose();
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const field = (name: string) => String(form.get(name) ?? "").trim();
    const header = field("header");
    add.mutate({ pattern: field("pattern"), base_url: field("base_url"), api_key: field("api_key"), headers: header ? { [header]: field("header_value") } : {} });
  };
  return (
    <Dialog open onClose={onClose} title="Add model endpoint">
      <form className="grid gap-3" onSubmit={submit} autoComplete="off">
        <label className="grid gap-1 font-medium">
          Model name or pattern
          <input className="box mono" name="pattern" required maxLength={200} placeholder="gpt-*, or one exact name" />
        </label>
        <label className="grid gap-1 font-medium">
          Base URL
          <input className="box mono" name="base_url" type="url" required maxLength={1000} placeholder="https://api.example.com/v1" />
          <span className="text-12 font-normal text-text-3">Up to, not including, /chat/completions. Loopback and private addresses only by an instance admin.</span>
        </label>
        <label className="grid gap-1 font-medium">
          Key
          <input className="box mono" name="api_key" type="password" maxLength={1000} autoComplete="new-password" placeholder="none" />
        </label>
        <details>
          <summary className="cursor-pointer text-12 text-text-2">Extra header</summary>
          <div className="mt-1 grid grid-cols-2 gap-2">
            <input className="box mono" name="header" aria-label="Header name" placeholder="X-Org" />
            <input className="box mono" name="header_value" aria-label="Header value" placeholder="value" />
          </div>
        </details>
        {add.error && <Failed what="Could not add the endpoint" error={add.error} />}
        <div className="flex justify-end gap-2">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn pri" disabled={add.isPending}>
            Add endpoint
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function RemoveEndpoint({ model, onClose }: { model: ModelEndpointOut; onClose: () => void }) {
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: () => api(`/api/models/${model.id}`, { method: "DELETE" }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["models"] });
      toast(`Endpoint for ${model.pattern} removed`);
      onClose();
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      title={`Remove the endpoint for ${model.pattern}?`}
      about="Runs that are waiting for this model fail, blamed on the provider. Results stay."
      keep="Keep endpoint"
      verb={`Remove ${model.pattern}`}
      busy={remove.isPending}
      onConfirm={() => remove.mutate()}
      error={remove.error && <Failed what="Could not remove the endpoint" error={remove.error} />}
    />
  );
}
