/** Tab: the jobs on any version of the set. */
import { Link } from "react-router";
import { jobsQuery } from "../api/queries";
import { JobTable } from "../runs/JobTable";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { useRows } from "../ui/useRows";
import { startPath } from "./paths";
import type { TabProps } from "./tabs";

export default function JobsTab({ set, shown }: TabProps) {
  const jobs = useRows(jobsQuery({ taskset: set.id }));
  if (jobs.error) return <Failed what="Could not load the jobs" error={jobs.error} retry={jobs.retry} />;
  if (jobs.loading) return <Skeleton />;
  return (
    <JobTable
      jobs={jobs}
      empty={
        <Empty title="No jobs on this taskset yet" action={<Link className="btn" to={startPath(shown)}>New job</Link>} command={`hud eval ${set.name} MODEL --full`}>
          A job runs every task with one agent and shows how good it is.
        </Empty>
      }
    />
  );
}
