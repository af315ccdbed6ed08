/** Tab: the tasks at the head, or of the version looked at. */
import type { TabProps } from "./tabs";
import { TaskTable } from "./TaskTable";

export default function TasksTab({ shown, pinned, onUpload }: TabProps) {
  return <TaskTable key={shown.head?.digest ?? ""} set={shown} pinned={pinned} onUpload={onUpload} />;
}
