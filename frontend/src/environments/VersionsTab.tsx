/** The versions of an environment, which HUD calls builds, and one of them: state, what it offers, its log, live while a worker is at it. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { api } from "../api/client";
import { environmentVersionQuery, environmentVersionsQuery } from "../api/queries";
import type { EnvironmentOut, EnvironmentVersionOut } from "../api/types";
import { versionState } from "../runs/words";
import { Digest } from "../ui/Copy";
import { Icon } from "../ui/Icon";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { State } from "../ui/State";
import { Time } from "../ui/Time";
import { toast } from "../ui/toast";
import { useRows } from "../ui/useRows";
import { BuildLog } from "./BuildLog";
import { busy } from "./busy";
import { TaskApp } from "./TaskApp";
import { Templates } from "./Templates";

export function VersionsTab({ env, number }: { env: EnvironmentOut; number: number | null }) {
  return (
    <div className="grid gap-4 px-6 pt-4 pb-6 max-md:px-4 md:grid-cols-[240px_minmax(0,1fr)]">
      <VersionList env={env} current={number} />
      {env.kind === "task_app" && (number === null || number === env.latest?.number) ? (
        <TaskApp env={env} />
      ) : number === null ? (
        <Empty title="No version yet">Add an image or upload a folder.</Empty>
      ) : (
        <Version env={env} number={number} />
      )}
    </div>
  );
}

function VersionList({ env, current }: { env: EnvironmentOut; current: number | null }) {
  const versions = useRows(environmentVersionsQuery(env.id), { refetchInterval: busy(env.latest) ? 2_000 : false });
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
  const version = useQuery(environmentVersionQuery(env.id, number));
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
          {busy(known) && (
            <div className="acts">
              <CancelBuild env={env} version={known} />
            </div>
          )}
        </header>
        <dl className="grid grid-cols-[110px_minmax(0,1fr)] gap-x-3 gap-y-1 p-3.5">
          <dt className="text-text-3">Image</dt>
          <dd className="mono break-all">{known.image || "–"}</dd>
          <dt className="text-text-3">Image id</dt>
          <dd>{known.image_id ? <Digest value={known.image_id} what="image id" /> : <span className="text-text-3">not known yet</span>}</dd>
          <dt className="text-text-3">Ready</dt>
          <dd>
            <Time at={known.ready_at} none={busy(known) ? "not yet" : `never, it ${known.status === "cancelled" ? "was cancelled" : "failed"}`} />
          </dd>
        </dl>
        {known.status === "failed" && known.error && (
          <p role="alert" className="banner bad rounded-b-3 border-b-0! [overflow-wrap:anywhere]">
            <Icon name="warn" /> {known.error}
          </p>
        )}
      </section>
      <Templates templates={known.templates} status={known.status} />
      <BuildLog key={known.id} env={env} version={known} />
    </div>
  );
}

/** Stops the engine's work too, so it asks nothing: the folder can be sent again. */
function CancelBuild({ env, version }: { env: EnvironmentOut; version: EnvironmentVersionOut }) {
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => api<EnvironmentVersionOut>(`/api/environments/${env.id}/versions/${version.number}/cancel`, { method: "POST" }),
    onSuccess: async () => {
      toast(`Version ${version.number} is being cancelled`);
      await client.invalidateQueries({ queryKey: ["environments"] });
    },
  });
  return (
    <>
      {cancel.error && <Failed what="Could not cancel it" error={cancel.error} />}
      <button type="button" className="btn danger" disabled={version.cancelling || cancel.isPending} onClick={() => cancel.mutate()}>
        {version.cancelling ? "Cancelling…" : "Cancel build"}
      </button>
    </>
  );
}
