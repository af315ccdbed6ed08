/** What can be done with the tasks of chosen findings: take them out, in the person's draft, where it can still be looked at. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "react-router";
import { api } from "../api/client";
import type { DraftOut, TasksetOut } from "../api/types";
import { plural } from "../ui/formats";
import { Failed } from "../ui/Notices";
import { toast } from "../ui/toast";

interface Props {
  set: TasksetOut;
  chosen: ReadonlySet<string>;
  /** The tasks of all loaded findings, some more than once. */
  all: readonly string[];
  choose: (slugs: ReadonlySet<string>) => void;
}

export function Chosen({ set, chosen, all, choose }: Props) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => api<DraftOut>(`/api/tasksets/${set.id}/draft/bulk`, { method: "POST", body: { slugs: [...chosen], remove: true } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["tasksets"] });
      toast(`${plural(chosen.size, "task")} taken out in your draft; commit it to make a version`, { text: "Open the draft", run: () => void navigate(`/tasksets/${set.id}/draft`) });
      choose(new Set());
    },
  });
  const every = new Set(all);
  return (
    <>
      {remove.error && <Failed what="Could not take the tasks out" error={remove.error} />}
      <div className="foot" role="group" aria-label="Selected tasks">
        <span className="tnum" role="status">
          {plural(chosen.size, "task")} selected
        </span>
        <button type="button" className="btn" disabled={chosen.size === every.size} onClick={() => choose(every)}>
          Select all {plural(every.size, "task")}
        </button>
        <button type="button" className="btn ghost" disabled={chosen.size === 0} onClick={() => choose(new Set())}>
          Clear
        </button>
        <span className="grow" />
        <button type="button" className="btn danger" disabled={chosen.size === 0 || remove.isPending} onClick={() => remove.mutate()}>
          Take {chosen.size > 0 ? plural(chosen.size, "task") : "them"} out in my draft
        </button>
      </div>
    </>
  );
}
