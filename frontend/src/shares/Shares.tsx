/** All share links of the team: what each shows, who made it, when it was used; revoke it. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { api } from "../api/client";
import { sharesQuery } from "../api/queries";
import type { ShareOut } from "../api/types";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { Confirm } from "../ui/Overlays";
import { PageHead } from "../ui/Page";
import { State } from "../ui/State";
import { Time } from "../ui/Time";
import { toast } from "../ui/toast";
import { rest, UseFromCode } from "../ui/UseFromCode";
import { useRows } from "../ui/useRows";
import type { Column } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";

export default function Shares() {
  const shares = useRows(sharesQuery());
  const [revoking, setRevoking] = useState<ShareOut | null>(null);
  const columns: Column<ShareOut>[] = [
    {
      name: "Shows",
      className: "on-phone",
      cell: (share) => (
        <Link className="plain" to={`/${share.kind}s/${encodeURIComponent(share.reference)}`}>
          {share.title} <span className="ml-2 text-text-3">{share.reference}</span>
        </Link>
      ),
    },
    { name: "Version", width: 130, className: "on-phone", cell: (share) => (share.pinned ? "one, for good" : "the newest") },
    { name: "Made", width: 240, cell: (share) => <span className="text-text-2">{share.created_by ? `${share.created_by}, ` : ""}<Time at={share.created_at} /></span> },
    { name: "Ends", width: 150, cell: (share) => <span className="text-text-2"><Time at={share.expires_at} none="never" /></span> },
    { name: "Last used", width: 150, cell: (share) => <span className="text-text-2"><Time at={share.last_used_at} none="never" /></span> },
    {
      name: <span className="sr-only">Revoke</span>,
      width: 120,
      className: "num on-phone",
      cell: (share) =>
        share.state === "live" ? (
          <button type="button" className="btn ghost danger" onClick={() => setRevoking(share)} aria-label={`Revoke the link to ${share.reference}`}>
            Revoke
          </button>
        ) : (
          <State kind="can">{share.state}</State>
        ),
    },
  ];
  return (
    <main id="main" className="page fill">
      <PageHead
        title="Share links"
        trail={[{ text: "Settings" }]}
        meta={<span>Public and read-only. Whoever has a link sees what it shows, without an account.</span>}
        actions={<UseFromCode snippets={[rest("/api/shares", "POST", '{"kind": "taskset", "reference": "NAME@3"}')]} />}
      />
      {shares.error ? (
        <Failed what="Could not load the links" error={shares.error} retry={shares.retry} />
      ) : shares.loading ? (
        <Skeleton />
      ) : (
        <VirtualTable
          label="Share links"
          rows={shares.rows}
          columns={columns}
          keyOf={(share) => share.id}
          more={shares.more}
          loadingMore={shares.loadingMore}
          minWidth={980}
          empty={
            <Empty title="No share link yet" action={<Link className="btn" to="/tasksets">Tasksets</Link>}>
              Open a taskset and choose Share… among its actions: whoever has the link can look at it.
            </Empty>
          }
        />
      )}
      {revoking && <Revoke share={revoking} onClose={() => setRevoking(null)} />}
    </main>
  );
}

function Revoke({ share, onClose }: { share: ShareOut; onClose: () => void }) {
  const client = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => api(`/api/shares/${share.id}/revoke`, { method: "POST", repeatable: true }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["shares"] });
      toast(`Link to ${share.reference} revoked`);
      onClose();
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      title={`Revoke the link to ${share.reference}?`}
      about="Whoever follows it sees nothing from now on. This cannot be undone; another link can be made."
      keep="Keep link"
      verb="Revoke link"
      busy={revoke.isPending}
      onConfirm={() => revoke.mutate()}
      error={revoke.error && <Failed what="Could not revoke the link" error={revoke.error} />}
    />
  );
}
