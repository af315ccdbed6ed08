/** One task as it stands in a version: what exactly is asked, with which arguments and columns, pinned by its content id. */
import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearchParams } from "react-router";
import { taskQuery, tasksetQuery } from "../api/queries";
import { Load } from "../shell/Load";
import { Icon } from "../ui/Icon";
import { PageHead } from "../ui/Page";
import { hud, rest, sdk, UseFromCode } from "../ui/UseFromCode";
import { DraftBar } from "./DraftBar";
import { TaskActions } from "./TaskActions";
import { TaskHistory } from "./TaskHistory";
import { TaskFacts, TaskParts } from "./TaskParts";
import { TaskResults } from "./TaskResults";

export default function Task() {
  const { ref = "", slug = "" } = useParams();
  const [params] = useSearchParams();
  const version = params.get("v");
  const set = useQuery(tasksetQuery(ref));
  const pinned = set.data && version ? `${set.data.name}@${version}` : ref;
  const task = useQuery({ ...taskQuery(pinned, slug), enabled: !version || set.isSuccess });
  if (!task.data || !set.data) return <Load what="task" error={set.error ?? task.error} retry={() => void task.refetch()} />;
  const reference = `${set.data.name}@${task.data.version_number}`;
  const start = `/jobs/new?${new URLSearchParams({ taskset: reference, slug }).toString()}`;
  return (
    <main id="main" className="page">
      <PageHead
        title={task.data.slug}
        trail={[{ to: "/tasksets", text: "Tasksets" }, { to: `/tasksets/${set.data.id}${version ? `?v=${version}` : ""}`, text: set.data.title }]}
        state={<span className="tag acc">v{task.data.version_number}</span>}
        meta={
          <>
            <Link className="plain" to={`/environments/${encodeURIComponent(task.data.env)}`}>
              <Icon name="environment" /> {task.data.env}
            </Link>
            <TaskFacts task={task.data} />
          </>
        }
        actions={
          <>
            <UseFromCode
              snippets={[
                rest(`/api/tasksets/${reference}/tasks/${encodeURIComponent(slug)}`),
                sdk(`from hud import Taskset\n\ntask = Taskset.from_api("${set.data.name}")["${slug}"]`),
                hud(`hud sync tasks ${set.data.name} tasks.py --task ${slug}`),
              ]}
            />
            {task.data.version_number === set.data.head?.number && <TaskActions set={set.data} task={task.data} />}
            <Link className="btn pri" to={start}>
              <Icon name="play" /> Run this task
            </Link>
          </>
        }
      />
      <div className="task-grid px-6 pb-6 max-md:px-4">
        <div className="grid min-w-0 content-start gap-4">
          <TaskParts task={task.data} />
        </div>
        <div className="grid min-w-0 content-start gap-4">
          <TaskResults set={set.data} reference={reference} slug={slug} start={start} />
          <TaskHistory set={set.data} slug={slug} />
        </div>
      </div>
      <DraftBar set={set.data} />
    </main>
  );
}
