/** Tab: every version, newest first. */
import { Link } from "react-router";
import { versionsQuery } from "../api/queries";
import type { VersionOut } from "../api/types";
import { Digest } from "../ui/Copy";
import { count } from "../ui/formats";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { Time } from "../ui/Time";
import { useRows } from "../ui/useRows";
import type { Column } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";
import type { TabProps } from "./tabs";

export default function VersionsTab({ set }: TabProps) {
  const versions = useRows(versionsQuery(set.id));
  const columns: Column<VersionOut>[] = [
    {
      name: "Version",
      width: 110,
      className: "on-phone",
      cell: (version) => (
        <Link className="stretch" to={`/tasksets/${set.id}?v=${version.number}`}>
          v{version.number}
          {version.number === set.head?.number && <span className="tag acc ml-2">head</span>}
        </Link>
      ),
    },
    { name: "Message", className: "on-phone wide", cell: (version) => version.message || <span className="text-text-3">no message</span> },
    {
      name: "Changes",
      width: 140,
      cell: (version) => (
        <span className="tnum text-text-2">
          +{count(version.created)} −{count(version.removed)} ~{count(version.updated)}
        </span>
      ),
    },
    { name: "Tasks", width: 90, className: "num", cell: (version) => count(version.task_count) },
    { name: "Digest", width: 210, cell: (version) => <Digest value={version.digest} what={`digest of v${version.number}`} /> },
    { name: "Who", width: 140, cell: (version) => <span className="text-text-2">{version.author ?? "system"}</span> },
    { name: "When", width: 150, className: "num on-phone", cell: (version) => <span className="text-text-2"><Time at={version.created_at} /></span> },
  ];
  if (versions.error) return <Failed what="Could not load the versions" error={versions.error} retry={versions.retry} />;
  if (versions.loading) return <Skeleton />;
  return (
    <VirtualTable
      label="Versions"
      rows={versions.rows}
      columns={columns}
      keyOf={(version) => version.id}
      more={versions.more}
      loadingMore={versions.loadingMore}
      minWidth={940}
      empty={<Empty title="No version yet">The first upload makes version 1.</Empty>}
    />
  );
}
