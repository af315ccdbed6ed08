/** "1,309 tasks keep their results, 10 need runs": the tasks whose content is new since another version, ready for a job. */
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "react-router";
import { diffQuery } from "../api/queries";
import type { DiffPage, TasksetOut } from "../api/types";
import { count, plural } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { Failed } from "../ui/Notices";

/** Slugs whose content `to` has and `from` has not, all of them. */
async function newSlugs(set: TasksetOut, from: string, to: string): Promise<string[]> {
  const listing = diffQuery(set.id, from, to, { kind: "added,changed", limit: 1000 });
  const slugs: string[] = [];
  let cursor: string | null = null;
  do {
    const page: DiffPage = await listing.read(cursor, AbortSignal.timeout(60_000));
    slugs.push(...page.items.map((row) => row.slug));
    cursor = page.next_cursor;
  } while (cursor);
  return slugs;
}

export function RunChanged({ set, changes, pair }: { set: TasksetOut; changes: DiffPage; pair: { from: string; to: string } }) {
  const navigate = useNavigate();
  const { added, changed, moved, unchanged } = changes.counts;
  const start = useMutation({
    mutationFn: () => newSlugs(set, pair.from, pair.to),
    onSuccess: (slugs) => void navigate(`/jobs/new?taskset=${encodeURIComponent(`${set.name}@${changes.to?.number ?? pair.to}`)}`, { state: { slugs } }),
  });
  if (added + changed === 0) return null;
  return (
    <>
      <span className="self-center text-12 text-text-2 tnum">
        {count(unchanged + moved)} keep their results, {count(added + changed)} need runs
      </span>
      <button type="button" className="btn" disabled={start.isPending} onClick={() => start.mutate()}>
        <Icon name="play" /> Run {plural(added + changed, "task")}
      </button>
      {start.error && <Failed what="Could not list the tasks" error={start.error} />}
    </>
  );
}
