/** One task of a shared taskset, whole. */
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "react-router";
import { sharedQuery, sharedTaskQuery } from "../api/queries";
import { TaskFacts, TaskParts } from "../tasksets/TaskParts";
import { Icon } from "../ui/Icon";
import { PageHead } from "../ui/Page";
import { Gone } from "./Gone";

export default function SharedTask() {
  const { token = "", slug = "" } = useParams();
  const set = useQuery(sharedQuery(token));
  const task = useQuery(sharedTaskQuery(token, slug));
  if (!set.data || !task.data) return <Gone what="the task" error={set.error ?? task.error} retry={() => void task.refetch()} />;
  return (
    <main id="main" className="page">
      <PageHead
        title={task.data.slug}
        state={<span className="tag acc">v{task.data.version_number}</span>}
        meta={
          <>
            <Link className="plain" to={`/share/${token}`}>
              <Icon name="left" /> {set.data.title}
            </Link>
            <span>
              <Icon name="environment" /> {task.data.env}
            </span>
            <TaskFacts task={task.data} />
          </>
        }
      />
      <div className="grid gap-4 px-6 pb-6 max-md:px-4">
        <TaskParts task={task.data} />
      </div>
    </main>
  );
}
