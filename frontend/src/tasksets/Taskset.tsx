/** One taskset at its head or a pinned version: head, tabs (`tabs.ts`), and the tab that the address names. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link, Navigate, useLocation, useNavigate, useParams, useSearchParams } from "react-router";
import { tasksetQuery } from "../api/queries";
import type { TasksetOut } from "../api/types";
import { NotFound } from "../shell/Errors";
import { remember } from "../shell/preferences";
import { Load } from "../shell/Load";
import { newImport } from "../imports/paths";
import { isUuid } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { useKeys } from "../ui/keys";
import { Boundary, Failed } from "../ui/Notices";
import { Tabs } from "../ui/Page";
import { RenameDialog } from "../ui/RenameDialog";
import { DraftBar } from "./DraftBar";
import { editPath, startPath } from "./paths";
import type { TasksetTab } from "./tabs";
import { TABS } from "./tabs";
import { TasksetHead } from "./TasksetHead";

/** `/tasksets/{name}`, `{name}@3`, `{name}@sha256:…` lead to the id, the version pinned by `?v=`. */
export default function Taskset() {
  const { ref = "", tab: path = "" } = useParams();
  const [params] = useSearchParams();
  const { pathname, search } = useLocation();
  const set = useQuery(tasksetQuery(ref));
  const tab = TABS.find((one) => one.path === path);
  tab?.View.preload();
  if (!tab) return <NotFound />;
  if (!set.data) return <Load what="taskset" error={set.error} retry={() => void set.refetch()} />;
  if (set.data.id !== ref) {
    const pinned = /@(.+)$/.exec(decodeURIComponent(ref))?.[1];
    const next = new URLSearchParams(search);
    if (pinned) next.set("v", pinned);
    const query = next.size ? `?${next.toString()}` : "";
    return <Navigate to={pathname.replace(/^\/tasksets\/[^/]+/, `/tasksets/${set.data.id}`) + query} replace />;
  }
  return <Known set={set.data} tab={tab} pinned={isUuid(ref) ? params.get("v") : null} />;
}

function Known({ set, tab, pinned }: { set: TasksetOut; tab: TasksetTab; pinned: string | null }) {
  const [renaming, setRenaming] = useState(false);
  const navigate = useNavigate();
  useEffect(() => remember({ to: `/tasksets/${set.id}`, text: set.title, kind: "taskset" }), [set.id, set.title]);
  const pin = useQuery({ ...tasksetQuery(`${set.name}@${pinned}`), enabled: pinned !== null });
  const shown = pinned === null ? set : (pin.data ?? set);
  const version = shown.head;
  const here = `/tasksets/${set.id}`;
  const upload = () => void navigate(newImport(set.id));
  useKeys("This taskset", [
    { keys: "n", what: `New job on ${set.title}`, run: () => void navigate(startPath(shown)) },
    { keys: "u", what: "Upload tasks", run: upload },
    { keys: "a", what: "New task", run: () => void navigate(editPath(set)) },
    { keys: "e", what: "Rename", run: () => setRenaming(true) },
  ]);
  const isHead = !version || !set.head || version.number === set.head.number;
  const props = { set, shown, pinned: !isHead, onUpload: upload };
  const link = ({ path, pins }: TasksetTab) => `${here}${path && "/"}${path}${pins && pinned ? `?v=${pinned}` : ""}`;
  return (
    <main id="main" className="page fill">
      <TasksetHead set={set} version={version} onUpload={upload} onRename={() => setRenaming(true)} />
      {pin.error && <Failed what={`Could not open version ${pinned ?? ""}`} error={pin.error} retry={() => void pin.refetch()} />}
      {!isHead && set.head && version && (
        <div className="banner warn">
          <Icon name="clock" /> You look at v{version.number}. <Link to={here}>Go to the head, v{set.head.number}</Link>
          {!set.archived_at && <Link to={`${here}/versions?restore=${version.number}`}>Restore v{version.number}…</Link>}
        </div>
      )}
      <Tabs label="Taskset" tabs={TABS.map((one) => ({ to: link(one), text: one.text, n: one.n?.(props), current: one === tab }))} />
      <Boundary key={tab.path} what={tab.text.toLowerCase()}>
        <tab.View {...props} />
      </Boundary>
      <DraftBar set={set} />
      {renaming && <RenameDialog what="taskset" path={`/api/tasksets/${set.id}`} name={set.title} stale={["tasksets"]} onClose={() => setRenaming(false)} />}
    </main>
  );
}
