/** Sandboxes of the environment that somebody drives from outside now; each can be ended. Read again every three seconds. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { api } from "../api/client";
import { sessionsQuery } from "../api/queries";
import type { EnvironmentOut, SessionOut } from "../api/types";
import { Id } from "../ui/Copy";
import { ABSENT } from "../ui/formats";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { State } from "../ui/State";
import type { StateKind } from "../ui/State";
import { Time } from "../ui/Time";
import { toast } from "../ui/toast";
import { useRows } from "../ui/useRows";
import type { Column } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";

const KINDS: Record<SessionOut["state"], StateKind> = { waiting: "pen", starting: "run", open: "run", closed: "can", failed: "bad" };

export default function SessionsTab({ env }: { env: EnvironmentOut }) {
  const sessions = useRows(sessionsQuery(env.id), { refetchInterval: 3000 });
  const columns: Column<SessionOut>[] = [
    { name: "State", width: 120, className: "on-phone", cell: (session) => <State kind={KINDS[session.state]}>{session.state}</State> },
    { name: "Session", width: 130, cell: (session) => <Id id={session.id} what="session" /> },
    { name: "Version", width: 80, className: "num", cell: (session) => `v${session.version}` },
    { name: "Run", width: 110, className: "on-phone", cell: (session) => (session.run_id ? <Link to={`/trace/${session.run_id}`}>trace</Link> : ABSENT) },
    { name: "Opened", cell: (session) => <span className="text-text-2">{session.created_by ? `${session.created_by}, ` : ""}<Time at={session.created_at} /></span> },
    { name: "Last byte", width: 140, cell: (session) => <span className="text-text-2"><Time at={session.last_used_at} none="none yet" /></span> },
    { name: "Ends by", width: 140, cell: (session) => <span className="text-text-2"><Time at={session.expires_at} /></span> },
    { name: <span className="sr-only">End</span>, width: 90, className: "num on-phone", cell: (session) => <EndSession env={env} session={session} /> },
  ];
  if (sessions.error) return <Failed what="Could not load the sessions" error={sessions.error} retry={sessions.retry} />;
  if (sessions.loading) return <Skeleton rows={3} />;
  return (
    <VirtualTable
      label="Sessions open now"
      rows={sessions.rows}
      columns={columns}
      keyOf={(session) => session.id}
      more={sessions.more}
      loadingMore={sessions.loadingMore}
      minWidth={960}
      empty={
        <Empty title="No session is open" command={'await Taskset.from_api("NAME").run(agent)'}>
          The HUD SDK opens one for each run when its agent works on another machine and the environment here.
        </Empty>
      }
    />
  );
}

function EndSession({ env, session }: { env: EnvironmentOut; session: SessionOut }) {
  const client = useQueryClient();
  const end = useMutation({
    mutationFn: () => api(`/api/environments/${env.id}/sessions/${session.id}`, { method: "DELETE" }),
    onSuccess: async () => {
      toast("The session ends");
      await client.invalidateQueries({ queryKey: ["environments", "sessions", env.id] });
    },
  });
  return (
    <button type="button" className="btn ghost danger" disabled={end.isPending} onClick={() => end.mutate()} aria-label={`End session ${session.id}`} title={end.error?.message}>
      End
    </button>
  );
}
