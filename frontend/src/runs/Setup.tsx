/** Everything a job was started with, pinned, and the same job as a request to send again. */
import type { JobOut } from "../api/types";
import { Command } from "../ui/Copy";
import { duration, plural } from "../ui/formats";
import { Json } from "../ui/Json";
import { tasksOf } from "./words";

export function Setup({ job }: { job: JobOut }) {
  const facts: [string, string | null][] = [
    ["Taskset", job.taskset && `${job.taskset.name}${job.taskset.version_number === null ? "" : `@${job.taskset.version_number}`}`],
    ["Version digest", job.taskset?.digest ?? null],
    ["Tasks", tasksOf(job)],
    ["Group", plural(job.group, "repeat")],
    ["Agent", job.agent_type],
    ["Model", job.model],
    ["At once", job.max_concurrent === null ? "as many as there are slots" : plural(job.max_concurrent, "run")],
    ["Time for one run", job.rollout_timeout_s === null ? null : duration(job.rollout_timeout_s)],
    ["Sandbox", job.sandbox === "subprocess" ? "subprocess, unsandboxed: plain processes on the server, without containers" : job.sandbox],
    ["Source", job.source],
  ];
  const request = JSON.stringify(
    { taskset: job.taskset && (job.taskset.digest ? `${job.taskset.name}@${job.taskset.digest}` : job.taskset.name), agent: { type: job.agent_type, config: job.agent_config ?? {} }, group: job.group, ...(job.max_concurrent === null ? {} : { max_concurrent: job.max_concurrent }) },
    null,
    1,
  );
  return (
    <div className="scroll grid min-h-0 grow content-start gap-4 px-6 py-4 max-md:px-4">
      <dl className="grid max-w-[960px] grid-cols-[160px_minmax(0,1fr)] gap-x-4 gap-y-1.5">
        {facts.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-text-3">{name}</dt>
            <dd className="[overflow-wrap:anywhere]">{value ?? "not recorded"}</dd>
          </div>
        ))}
      </dl>
      {job.agent_config && (
        <section className="grid max-w-[960px] gap-1">
          <h2>Agent config</h2>
          <Json text={JSON.stringify(job.agent_config)} label="agent config" />
        </section>
      )}
      {job.source === "hosted" && (
        <section className="grid max-w-[960px] gap-1">
          <h2>The same again, over REST</h2>
          <Command label="request" code={`curl -X POST ${location.origin}/api/jobs -H "Authorization: Bearer $HUD_API_KEY" \\\n  -H "Content-Type: application/json" -d '${request.replaceAll("'", "'\\''")}'`} />
        </section>
      )}
    </div>
  );
}
