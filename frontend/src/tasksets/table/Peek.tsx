/** A look at one task beside the list, which stays usable: the prompt, its arguments and columns. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { taskQuery } from "../../api/queries";
import type { TasksetOut } from "../../api/types";
import { Icon } from "../../ui/Icon";
import { Json } from "../../ui/Json";
import { Failed, Skeleton } from "../../ui/Notices";
import { promptOf } from "../prompt";
import { taskPath } from "../paths";

export function Peek({ set, reference, slug, version, onClose }: { set: TasksetOut; reference: string; slug: string; version: number | undefined; onClose: () => void }) {
  const task = useQuery(taskQuery(reference, slug));
  return (
    <aside className="peek" aria-label={`Task ${slug}`}>
      <header className="flex items-center gap-2 border-b border-line px-4 py-2">
        <h2 className="mono grow truncate">{slug}</h2>
        <Link className="btn" to={taskPath(set, slug, version)}>
          Open
        </Link>
        <button type="button" className="btn icon" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div className="scroll grid min-h-0 content-start gap-3 p-4" tabIndex={0} role="region" aria-label="What it holds">
        {task.error && <Failed what="Could not load the task" error={task.error} retry={() => void task.refetch()} />}
        {task.isPending && <Skeleton rows={4} />}
        {task.data && (
          <>
            {task.data.args && <p className="prose">{promptOf(task.data.args.slice(0, 64_000))}</p>}
            {task.data.args && <Json text={task.data.args} label="Arguments" />}
            {task.data.columns && <Json text={task.data.columns} label="Columns" />}
          </>
        )}
      </div>
    </aside>
  );
}
