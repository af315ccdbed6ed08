/** The newest job of a taskset: asked once for all of them, shown in lists. */
import { useQuery } from "@tanstack/react-query";
import { lastJobsQuery } from "../api/queries";
import { Gauge } from "../ui/Reward";

export const useLastJob = (taskset: string) => useQuery(lastJobsQuery).data?.items.find((last) => last.taskset_id === taskset);

export function LastMean({ taskset }: { taskset: string }) {
  const last = useLastJob(taskset);
  return <Gauge value={last?.mean_reward ?? null} why={last ? "no graded run" : "no job yet"} />;
}
