/** How two states of a task are shown: the view, and whether unchanged lines are. Kept in the address by whoever uses it. */
import { Segments } from "../ui/Segments";
import type { View } from "./TaskDiff";
import { VIEWS } from "./TaskDiff";

interface Props {
  views?: readonly (readonly [View, string])[];
  view: View;
  whole: boolean;
  put: (changes: Record<string, string>) => void;
}

export function ViewChoice({ views = VIEWS, view, whole, put }: Props) {
  return (
    <>
      {view !== "fields" && (
        <label className="flex items-center gap-1.5 text-12">
          <input type="checkbox" checked={!whole} onChange={(event) => put({ all: event.target.checked ? "" : "1" })} /> Only changed lines with context
        </label>
      )}
      <Segments label="View" options={views} value={view} onChange={(next) => put({ view: next })} />
    </>
  );
}
