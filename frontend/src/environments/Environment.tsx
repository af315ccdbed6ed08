/** One environment: head, and the tab that the address names: its versions, its variables, the sessions that are open. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Navigate, useParams } from "react-router";
import { environmentQuery } from "../api/queries";
import type { EnvironmentOut } from "../api/types";
import { versionState } from "../runs/words";
import { remember } from "../shell/preferences";
import { Load } from "../shell/Load";
import { Id } from "../ui/Copy";
import { plural } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { PageHead, Tabs } from "../ui/Page";
import { chunk } from "../ui/chunk";
import { State } from "../ui/State";
import { Time } from "../ui/Time";
import { hud, rest, sdk, UseFromCode } from "../ui/UseFromCode";
import { busy } from "./busy";
import { RegisterDialog } from "./RegisterDialog";
import { VersionsTab } from "./VersionsTab";

const VariablesTab = chunk(() => import("./VariablesTab"));
const SessionsTab = chunk(() => import("./SessionsTab"));
export type EnvironmentTab = "versions" | "variables" | "sessions";

export default function Environment({ tab }: { tab: EnvironmentTab }) {
  const { ref = "", number } = useParams();
  const env = useQuery({ ...environmentQuery(ref), refetchInterval: (query) => (busy(query.state.data?.latest) ? 2000 : false) });
  if (!env.data) return <Load what="environment" error={env.error} retry={() => void env.refetch()} />;
  if (env.data.id !== ref) return <Navigate to={`/environments/${env.data.id}${number ? `/versions/${number}` : tab === "versions" ? "" : `/${tab}`}`} replace />;
  return <Known env={env.data} tab={tab} number={number ? Number(number) : (env.data.latest?.number ?? null)} />;
}

function Known({ env, tab, number }: { env: EnvironmentOut; tab: EnvironmentTab; number: number | null }) {
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
                hud(`hud deploy --name ${env.name}`),
              ]}
            />
            <button type="button" className="btn pri" onClick={() => setAdding(true)}>
              <Icon name="plus" /> New version
            </button>
          </>
        }
      />
      <Tabs label="Environment" tabs={tabsOf(env, tab)} />
      {tab === "versions" ? <VersionsTab env={env} number={number} /> : tab === "variables" ? <VariablesTab env={env} /> : <SessionsTab env={env} />}
      {adding && <RegisterDialog name={env.name} kind={env.kind} onClose={() => setAdding(false)} />}
    </main>
  );
}

/** Variables and sessions are of sandboxes, which a Task App has none of. */
function tabsOf(env: EnvironmentOut, tab: EnvironmentTab) {
  const versions = { to: `/environments/${env.id}`, text: "Versions", n: String(env.version_count), current: tab === "versions" };
  const ofSandboxes = [
    { to: `/environments/${env.id}/variables`, text: "Variables", current: tab === "variables" },
    { to: `/environments/${env.id}/sessions`, text: "Sessions", current: tab === "sessions" },
  ];
  return env.kind === "task_app" ? [versions] : [versions, ...ofSandboxes];
}
