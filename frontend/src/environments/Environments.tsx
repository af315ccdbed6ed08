/** What tasks can run in, and whether it is healthy; register an image or upload a folder. */
import { useState } from "react";
import { Link, useSearchParams } from "react-router";
import { environmentsQuery } from "../api/queries";
import type { EnvironmentOut } from "../api/types";
import { versionState } from "../runs/words";
import { ABSENT, count } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { PageHead } from "../ui/Page";
import { State } from "../ui/State";
import { Time } from "../ui/Time";
import { hud, rest, UseFromCode } from "../ui/UseFromCode";
import { useRows } from "../ui/useRows";
import type { Column } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";
import { RegisterDialog } from "./RegisterDialog";

const COLUMNS: Column<EnvironmentOut>[] = [
  {
    name: "Name",
    className: "on-phone",
    cell: (env) => (
      <Link className="stretch" to={`/environments/${env.id}`}>
        {env.title}
      </Link>
    ),
  },
  { name: "Kind", width: 100, cell: (env) => <span className="tag">{env.kind}</span> },
  {
    name: "Newest version",
    width: 170,
    className: "on-phone",
    cell: (env) => {
      if (!env.latest) return <span title="no version yet">{ABSENT}</span>;
      const said = versionState(env.latest);
      return (
        <span className="flex items-center gap-2">
          <State kind={said.kind}>{said.word}</State> <span className="text-text-2">v{env.latest.number}</span>
        </span>
      );
    },
  },
  { name: "New jobs get", width: 120, cell: (env) => (env.ready ? `v${env.ready.number}` : <span className="text-text-3">none is ready</span>) },
  { name: "Templates", width: 100, className: "num", cell: (env) => (env.ready ? count(env.ready.templates.length) : ABSENT) },
  { name: "Image", width: 260, cell: (env) => <code className="text-text-2" title={env.latest?.image}>{env.latest?.image ?? ABSENT}</code> },
  { name: "Versions", width: 90, className: "num", cell: (env) => count(env.version_count) },
  { name: "Made", width: 150, className: "num", cell: (env) => <span className="text-text-2"><Time at={env.created_at} /></span> },
];

export default function Environments() {
  const [params] = useSearchParams();
  const envs = useRows(environmentsQuery());
  const [adding, setAdding] = useState(params.has("add"));
  const add = (
    <button type="button" className="btn pri" onClick={() => setAdding(true)}>
      <Icon name="plus" /> Add environment
    </button>
  );
  return (
    <main id="main" className="page fill">
      <PageHead
        title="Environments"
        actions={
          <>
            <UseFromCode snippets={[rest("/api/environments"), rest("/api/environments", "POST", '{"name": "my-env", "image": "my-env:latest"}'), hud("hud serve env.py")]} />
            {add}
          </>
        }
      />
      {envs.error ? (
        <Failed what="Could not load the environments" error={envs.error} retry={envs.retry} />
      ) : envs.loading ? (
        <Skeleton />
      ) : (
        <VirtualTable
          label="Environments"
          rows={envs.rows}
          columns={COLUMNS}
          keyOf={(env) => env.id}
          more={envs.more}
          loadingMore={envs.loadingMore}
          minWidth={1080}
          empty={
            <Empty title="No environment yet" action={add}>
              An environment is what a task runs in: it asks, and it grades. Register an image that is on the engine, or upload a folder with a Dockerfile.
            </Empty>
          }
        />
      )}
      {adding && <RegisterDialog onClose={() => setAdding(false)} />}
    </main>
  );
}
