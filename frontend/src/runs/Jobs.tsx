/** All jobs, newest first; the search, state and archive filters are in the URL. */
import { Link, useSearchParams } from "react-router";
import { jobsQuery } from "../api/queries";
import { Icon } from "../ui/Icon";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { PageHead } from "../ui/Page";
import { Search } from "../ui/Search";
import { Segments } from "../ui/Segments";
import { hud, rest, sdk, UseFromCode } from "../ui/UseFromCode";
import { useRows } from "../ui/useRows";
import { IN_PLACE } from "../ui/useAddress";
import { JobTable } from "./JobTable";

const STATES = [
  ["", "All"],
  ["running", "Running"],
  ["completed", "Finished"],
  ["cancelled", "Cancelled"],
] as const;

export default function Jobs() {
  const [params, setParams] = useSearchParams();
  const q = params.get("q") ?? "";
  const state = params.get("state") ?? "";
  const archived = params.get("archived") === "true";
  const jobs = useRows(jobsQuery({ q, state, archived: archived || undefined }));
  const set = (name: string, value: string) => {
    const next = new URLSearchParams(params);
    if (value) next.set(name, value);
    else next.delete(name);
    setParams(next, IN_PLACE);
  };
  const filtered = q !== "" || state !== "" || archived;
  const newJob = (
    <Link className="btn pri" to="/jobs/new">
      <Icon name="play" /> New job <kbd>n</kbd>
    </Link>
  );
  return (
    <main id="main" className="page fill">
      <PageHead
        title="Jobs"
        actions={
          <>
            <UseFromCode snippets={[rest("/api/jobs"), sdk(SDK), hud("hud eval TASKSET MODEL --full\nhud jobs list")]} />
            {newJob}
          </>
        }
      />
      <div className="flex flex-wrap items-center gap-3 border-b border-line px-6 pb-2 max-md:px-4">
        <Search label="Search jobs" value={q} onChange={(value) => set("q", value)} />
        <Segments label="State" options={STATES} value={state} onChange={(value) => set("state", value)} />
        <label className="flex items-center gap-2">
          <input type="checkbox" checked={archived} onChange={(event) => set("archived", event.target.checked ? "true" : "")} /> Archived
        </label>
      </div>
      {jobs.error ? (
        <Failed what="Could not load the jobs" error={jobs.error} retry={jobs.retry} />
      ) : jobs.loading ? (
        <Skeleton />
      ) : (
        <JobTable
          jobs={jobs}
          empty={
            filtered ? (
              <Empty title="No job matches" action={<button type="button" className="btn" onClick={() => setParams({})}>Clear filters</button>} />
            ) : (
              <Empty title="No job yet" action={newJob} command="hud eval TASKSET MODEL --full">
                A job runs every task of a taskset with one agent and shows how good it is.
              </Empty>
            )
          }
        />
      )}
    </main>
  );
}

const SDK = `from hud import Taskset
from hud.agents import create_agent

job = await Taskset.from_api("TASKSET").run(create_agent("MODEL"))
print(job.reward)`;
