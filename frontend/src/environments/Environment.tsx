/** One environment: does the newest version work, what does it offer, and its build log. Read again while a worker is at it. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link, Navigate, useParams } from "react-router";
import { environmentQuery, environmentVersionQuery, environmentVersionsQuery } from "../api/queries";
import type { EnvironmentOut, EnvironmentVersionOut, TemplateOut } from "../api/types";
import { versionState } from "../runs/words";
import { remember } from "../shell/preferences";
import { Load } from "../shell/Load";
import { Copy, Digest, Id } from "../ui/Copy";
import { plural } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { Json } from "../ui/Json";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { PageHead } from "../ui/Page";
import { State } from "../ui/State";
import { Time } from "../ui/Time";
import { hud, rest, sdk, UseFromCode } from "../ui/UseFromCode";
import { useRows } from "../ui/useRows";
import { RegisterDialog } from "./RegisterDialog";
import { TaskApp } from "./TaskApp";

const busy = (version: EnvironmentVersionOut | null | undefined) => version !== null && version !== undefined && ["pending", "building", "probing"].includes(version.status);

export default function Environment() {
  const { ref = "", number } = useParams();
  const env = useQuery({ ...environmentQuery(ref), refetchInterval: (query) => (busy(query.state.data?.latest) ? 2000 : false) });
  if (!env.data) return <Load what="environment" error={env.error} retry={() => void env.refetch()} />;
  if (env.data.id !== ref) return <Navigate to={`/environments/${env.data.id}${number ? `/versions/${number}` : ""}`} replace />;
  return <Known env={env.data} number={number ? Number(number) : (env.data.latest?.number ?? null)} />;
}

function Known({ env, number }: { env: EnvironmentOut; number: number | null }) {
  const [adding, setAdding] = useState(false);
  useEffect(() => remember({ to: `/environments/${env.id}`, text: env.title, kind: "environment" }), [env.id, env.title]);
  const said = env.latest && versionState(env.latest);
  return (
    <main id="main" className="page">
      <PageHead
        title={env.title}
        trail={[{ to: "/environments", text: "Environments" }]}
        state={
          <>
            <span className="tag">{env.kind}</span>
            {said && (
              <span>
                <State kind={said.kind}>{said.word}</State>
              </span>
            )}
          </>
        }
        meta={
          <>
            <span>{plural(env.version_count, "version")}</span>
            <span>{env.ready ? `new jobs get v${env.ready.number}` : "no version is ready: jobs that need it are refused"}</span>
            <span>
              made <Time at={env.created_at} />
            </span>
            <Id id={env.id} what="environment" />
          </>
        }
        actions={
          <>
            <UseFromCode
              snippets={[
                rest(`/api/environments/${env.name}`),
                env.kind === "task_app"
                  ? rest("/api/task-apps", "POST", `{"name": "${env.name}", "url": "URL", "api_key": "KEY"}`)
                  : rest("/api/environments", "POST", `{"name": "${env.name}", "image": "IMAGE"}`),
                sdk(`from hud import Task\n\ntask = Task(env="${env.name}", id="${env.ready?.templates[0]?.id ?? "TEMPLATE"}", args={})`),
                hud("hud serve env.py"),
              ]}
            />
            <button type="button" className="btn pri" onClick={() => setAdding(true)}>
              <Icon name="plus" /> New version
            </button>
          </>
        }
      />
      <div className="grid gap-4 px-6 pb-6 max-md:px-4 md:grid-cols-[240px_minmax(0,1fr)]">
        <VersionList env={env} current={number} />
        {env.kind === "task_app" && (number === null || number === env.latest?.number) ? (
          <TaskApp env={env} />
        ) : number === null ? (
          <Empty title="No version yet">Add an image or upload a folder.</Empty>
        ) : (
          <Version env={env} number={number} />
        )}
      </div>
      {adding && <RegisterDialog name={env.name} kind={env.kind} onClose={() => setAdding(false)} />}
    </main>
  );
}

function VersionList({ env, current }: { env: EnvironmentOut; current: number | null }) {
  const versions = useRows(environmentVersionsQuery(env.id, env.latest?.status));
  return (
    <nav className="card h-fit overflow-hidden" aria-label="Versions">
      <header>
        <h2>Versions</h2>
      </header>
      {versions.error && <Failed what="Could not load the versions" error={versions.error} retry={versions.retry} />}
      <ul>
        {versions.rows.map((version) => {
          const said = versionState(version);
          return (
            <li key={version.id}>
              <Link
                to={`/environments/${env.id}/versions/${version.number}`}
                className={`flex items-center gap-2 px-3.5 py-2 text-text hover:bg-hover hover:no-underline ${version.number === current ? "bg-selected" : ""}`}
                aria-current={version.number === current ? "page" : undefined}
              >
                <b className="font-medium">v{version.number}</b>
                <State kind={said.kind}>{said.word}</State>
                <span className="grow" />
                <span className="text-11 text-text-3">
                  <Time at={version.created_at} />
                </span>
              </Link>
            </li>
          );
        })}
      </ul>
      {versions.more && (
        <button type="button" className="btn ghost w-full" onClick={versions.more}>
          Older versions
        </button>
      )}
    </nav>
  );
}

function Version({ env, number }: { env: EnvironmentOut; number: number }) {
  const version = useQuery({ ...environmentVersionQuery(env.id, number), refetchInterval: (query) => (busy(query.state.data) ? 2000 : false) });
  if (version.error) return <Failed what={`Could not load version ${number}`} error={version.error} retry={() => void version.refetch()} />;
  if (!version.data) return <Skeleton />;
  const known = version.data;
  return (
    <div className="grid min-w-0 content-start gap-4">
      <section className="card" aria-label={`Version ${number}`}>
        <header>
          <h2>Version {number}</h2>
          <span className="tag">{known.source}</span>
          {known.capabilities.map((name) => (
            <span key={name} className="tag line">
              {name}
            </span>
          ))}
        </header>
        <dl className="grid grid-cols-[110px_minmax(0,1fr)] gap-x-3 gap-y-1 p-3.5">
          <dt className="text-text-3">Image</dt>
          <dd className="mono break-all">{known.image || "–"}</dd>
          <dt className="text-text-3">Image id</dt>
          <dd>{known.image_id ? <Digest value={known.image_id} what="image id" /> : <span className="text-text-3">not known yet</span>}</dd>
          <dt className="text-text-3">Ready</dt>
          <dd>
            <Time at={known.ready_at} none={known.status === "failed" ? "never, it failed" : "not yet"} />
          </dd>
        </dl>
        {known.error && (
          <p role="alert" className="banner bad rounded-b-3 border-b-0! [overflow-wrap:anywhere]">
            <Icon name="warn" /> {known.error}
          </p>
        )}
      </section>
      <Templates templates={known.templates} status={known.status} />
      {known.log && (
        <section className="card" aria-label="Build log">
          <header>
            <h2>Log</h2>
            <div className="acts">
              <Copy text={known.log} label="Copy the log" />
            </div>
          </header>
          <div className="p-3">
            <div className="term max-h-[520px]" role="log" aria-live="off" aria-label="Build log" tabIndex={0}>
              {known.log}
            </div>
          </div>
        </section>
      )}
    </div>
  );
}

function Templates({ templates, status }: { templates: TemplateOut[]; status: string }) {
  return (
    <section className="card" aria-label="Task templates">
      <header>
        <h2>Tasks it offers</h2>
        <span className="tag tnum">{templates.length}</span>
      </header>
      {templates.length === 0 && <p className="p-3.5 text-text-3">{status === "ready" ? "It named none." : status === "failed" ? "Not known: it did not get that far." : "Known once a worker has started it and asked."}</p>}
      <ul>
        {templates.map((template) => (
          <li key={template.id} className="grid gap-1 border-b border-line p-3.5 last:border-0">
            <b className="mono">{template.id}</b>
            {template.description && <span className="text-text-2">{template.description}</span>}
            {Object.keys(template.args).length > 0 && (
              <details>
                <summary className="cursor-pointer text-12 text-text-2">Arguments</summary>
                <Json text={JSON.stringify(template.args)} label={`arguments of ${template.id}`} />
              </details>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
