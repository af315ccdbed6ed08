/** The tabs of a taskset, in order: a new one is one line here. Each is a chunk of its own, at `/tasksets/{id}/{path}`. */
import type { TasksetOut } from "../api/types";
import type { Chunk } from "../ui/chunk";
import { chunk } from "../ui/chunk";
import { count } from "../ui/formats";

/** What a tab is given. `shown` is the set with the looked-at version as its head; it is `set` unless `pinned`. */
export interface TabProps {
  set: TasksetOut;
  shown: TasksetOut;
  pinned: boolean;
  onUpload: () => void;
}

export interface TasksetTab {
  path: string;
  text: string;
  n?: (props: TabProps) => string;
  /** The tab shows the pinned version, so its link keeps `?v=`. */
  pins?: boolean;
  View: Chunk<TabProps>;
}

export const TABS: readonly TasksetTab[] = [
  { path: "", text: "Tasks", n: ({ shown }) => count(shown.head?.task_count ?? 0), pins: true, View: chunk(() => import("./TasksTab")) },
  { path: "versions", text: "Versions", n: ({ set }) => count(set.head?.number ?? 0), View: chunk(() => import("./VersionsTab")) },
  { path: "imports", text: "Imports", View: chunk(() => import("../imports/Imports")) },
  { path: "insight", text: "Insight", pins: true, View: chunk(() => import("../insight/Insight")) },
  { path: "jobs", text: "Jobs", View: chunk(() => import("./JobsTab")) },
  { path: "settings", text: "Settings", View: chunk(() => import("./SettingsTab")) },
];
