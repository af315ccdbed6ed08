/** Tab: every version, newest first, with its tags; look at one, compare two, tag, restore, undo the last. `?choose=9,12` keeps the
 * chosen, `?tag=12` and `?restore=9` open the dialogs. */
import { useMutation } from "@tanstack/react-query";
import { useRef } from "react";
import { Link, useNavigate } from "react-router";
import { tagsQuery, versionsQuery } from "../api/queries";
import type { TagOut, TasksetOut, VersionOut } from "../api/types";
import { copyText, Digest } from "../ui/Copy";
import { count, plural } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { useKeys } from "../ui/keys";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { Menu, MoreButton } from "../ui/Overlays";
import { useRowKeys } from "../ui/rowKeys";
import { Time } from "../ui/Time";
import { toast } from "../ui/toast";
import { useAddress } from "../ui/useAddress";
import { useRows } from "../ui/useRows";
import type { Column, TableHandle } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";
import { useGoingBack } from "./goingBack";
import { diffPath } from "./paths";
import { RestoreDialog } from "./RestoreDialog";
import type { TabProps } from "./tabs";
import { TagDialog } from "./TagDialog";

/** What can be done with a version; keys and menus both do it through here. */
interface Doing {
  look: (version: VersionOut) => void;
  changes: (version: VersionOut) => void;
  tag: (version: VersionOut) => void;
  restore: (version: VersionOut) => void;
  choose: (version: VersionOut) => void;
  copy: (version: VersionOut) => void;
}

export default function VersionsTab({ set }: TabProps) {
  const versions = useRows(versionsQuery(set.id));
  const tags = useRows(tagsQuery(set.id)).rows;
  const table = useRef<TableHandle>(null);
  const [params, put] = useAddress();
  const navigate = useNavigate();
  const { undo } = useGoingBack(set);
  const undoing = useMutation({ mutationFn: undo });
  const chosen = numbers(params.get("choose"));
  const compare = () => chosen.length === 2 && void navigate(diffPath(set, Math.min(...chosen), Math.max(...chosen)));
  const doing: Doing = {
    look: (version) => void navigate(`/tasksets/${set.id}?v=${version.number}`),
    changes: (version) => version.parent_number !== null && void navigate(diffPath(set, version.parent_number, version.number)),
    tag: (version) => put({ tag: String(version.number) }),
    restore: (version) => version.number !== set.head?.number && put({ restore: String(version.number) }),
    choose: ({ number }) => put({ choose: (chosen.includes(number) ? chosen.filter((one) => one !== number) : [...chosen.slice(-1), number]).join(",") }),
    copy: (version) => void copyText(`${set.name}@${version.number}`).then((done) => done && toast(`${set.name}@${version.number} copied`)),
  };
  useRowKeys("Versions", table, versions.rows, [
    { keys: "x", what: "Choose for comparing", run: doing.choose },
    { keys: "c", what: "Compare the two chosen", run: compare },
    { keys: "d", what: "Changes since the version before", run: doing.changes },
    { keys: "t", what: "Tag…", run: doing.tag },
    { keys: "r", what: "Restore…", run: doing.restore },
  ]);
  const last = set.head?.parent_number === null || set.archived_at ? null : set.head;
  useKeys("Versions", last ? [{ keys: "z", what: `Undo v${last.number}`, run: () => undoing.mutate(last.number) }] : []);
  if (versions.error) return <Failed what="Could not load the versions" error={versions.error} retry={versions.retry} />;
  if (versions.loading) return <Skeleton />;
  return (
    <>
      <div className="flex flex-wrap items-center gap-3 border-b border-line px-6 py-2 max-md:px-4">
        <span className="text-12 text-text-2 tnum">{plural(set.head?.number ?? 0, "version")}</span>
        <span className="grow" />
        <button type="button" className="btn" disabled={chosen.length !== 2} title={chosen.length === 2 ? "c" : "Choose two versions to compare them"} onClick={compare}>
          {chosen.length === 2 ? `Compare v${Math.min(...chosen)} with v${Math.max(...chosen)}` : "Compare two"}
        </button>
        {last && (
          <button type="button" className="btn" title="z" disabled={undoing.isPending} onClick={() => undoing.mutate(last.number)}>
            <Icon name="again" /> Undo v{last.number}
          </button>
        )}
      </div>
      {undoing.error && <Failed what="Could not undo" error={undoing.error} />}
      <VirtualTable
        ref={table}
        label="Versions"
        rows={versions.rows}
        columns={columnsOf(set, tags, chosen, doing)}
        keyOf={(version) => version.id}
        selected={(version) => chosen.includes(version.number)}
        more={versions.more}
        loadingMore={versions.loadingMore}
        minWidth={1080}
        empty={<Empty title="No version yet">The first upload makes version 1.</Empty>}
      />
      {params.get("tag") && <TagDialog set={set} number={Number(params.get("tag"))} onClose={() => put({ tag: "" })} />}
      {params.get("restore") && <RestoreDialog set={set} number={Number(params.get("restore"))} onClose={() => put({ restore: "" })} />}
    </>
  );
}

/** At most two version numbers out of the address. */
export const numbers = (text: string | null) => (text ?? "").split(",").map(Number).filter((one) => Number.isInteger(one) && one > 0).slice(0, 2);

function columnsOf(set: TasksetOut, tags: TagOut[], chosen: number[], doing: Doing): Column<VersionOut>[] {
  return [
    {
      name: <span className="sr-only">Compare</span>,
      width: 52,
      cell: (version) => <input type="checkbox" aria-label={`Choose v${version.number} for comparing`} checked={chosen.includes(version.number)} onChange={() => doing.choose(version)} />,
    },
    {
      name: "Version",
      width: 190,
      className: "on-phone",
      cell: (version) => (
        <span className="flex items-center gap-1.5">
          <Link className="stretch" to={`/tasksets/${set.id}?v=${version.number}`}>
            v{version.number}
          </Link>
          {version.number === set.head?.number && <span className="tag acc">head</span>}
          {tags.filter((tag) => tag.version_number === version.number).map((tag) => (
            <span key={tag.name} className="tag">
              <Icon name="tag" small /> {tag.name}
            </span>
          ))}
        </span>
      ),
    },
    { name: "Message", className: "on-phone wide", cell: (version) => <Message version={version} /> },
    { name: "Changes", width: 140, cell: (version) => <Changes set={set} version={version} /> },
    { name: "Tasks", width: 90, className: "num", cell: (version) => count(version.task_count) },
    { name: "Digest", width: 200, cell: (version) => <Digest value={version.digest} what={`digest of v${version.number}`} /> },
    { name: "Who", width: 130, cell: (version) => <span className="text-text-2">{version.author ?? "system"}</span> },
    { name: "When", width: 130, className: "num", cell: (version) => <span className="text-text-2"><Time at={version.created_at} /></span> },
    { name: <span className="sr-only">Actions</span>, width: 68, className: "num on-phone", cell: (version) => <Actions set={set} version={version} doing={doing} /> },
  ];
}

function Message({ version }: { version: VersionOut }) {
  return (
    <>
      {version.message || <span className="text-text-3">no message</span>}
      <span className="text-text-3 md:hidden">
        , <Time at={version.created_at} />
      </span>
    </>
  );
}

function Changes({ set, version }: { set: TasksetOut; version: VersionOut }) {
  const said = `+${count(version.created)} −${count(version.removed)} ~${count(version.updated)}`;
  if (version.parent_number === null) return <span className="text-text-2 tnum">{said}</span>;
  return (
    <Link className="text-text-2 tnum" to={diffPath(set, version.parent_number, version.number)} aria-label={`${said}, changes of v${version.number}`}>
      {said}
    </Link>
  );
}

function Actions({ set, version, doing }: { set: TasksetOut; version: VersionOut; doing: Doing }) {
  const isHead = version.number === set.head?.number;
  return (
    <Menu
      label={`Actions of v${version.number}`}
      button={<MoreButton label={`Actions of v${version.number}`} />}
      items={[
        { text: "Look at it", hint: <kbd>↵</kbd>, run: () => doing.look(version) },
        { text: version.parent_number === null ? "Changes" : `Changes since v${version.parent_number}`, hint: <kbd>d</kbd>, disabled: version.parent_number === null, run: () => doing.changes(version) },
        { text: "Copy reference", run: () => doing.copy(version) },
        null,
        { text: "Tag…", hint: <kbd>t</kbd>, disabled: set.archived_at !== null, run: () => doing.tag(version) },
        { text: `Restore v${version.number}…`, hint: <kbd>r</kbd>, disabled: isHead || set.archived_at !== null, run: () => doing.restore(version) },
      ]}
    />
  );
}
