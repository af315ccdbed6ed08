/** The set's choices: what is done with tasks that do not fit, and which fields hold answers. Kept with the set; the head is analysed anew. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { api } from "../api/client";
import type { SchemaPolicy, TasksetOut } from "../api/types";
import { Failed } from "../ui/Notices";
import { Dialog } from "../ui/Overlays";
import { toast } from "../ui/toast";

const POLICIES: readonly (readonly [SchemaPolicy, string, string])[] = [
  ["off", "Off", "Tasks are held against no manifest."],
  ["warn", "Warn", "Tasks that do not fit are listed here, after they came in."],
  ["refuse", "Refuse", "A version that adds or changes a task which does not fit is refused, whichever way it comes."],
];

export function Choices({ set, onClose }: { set: TasksetOut; onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title="What is looked at" about="These choices stay with the taskset. The head is analysed again after a change.">
      <ChoicesForm set={set} onDone={onClose} />
    </Dialog>
  );
}

/** For the settings of a set too. */
export function ChoicesForm({ set, onDone }: { set: TasksetOut; onDone?: () => void }) {
  const client = useQueryClient();
  const save = useMutation({
    mutationFn: (body: { schema_policy: string; answer_fields: string[] }) => api<TasksetOut>(`/api/tasksets/${set.id}`, { method: "PATCH", body }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["tasksets"] });
      toast("Saved");
      onDone?.();
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const fields = String(given.get("answer_fields")).split(",").map((field) => field.trim()).filter(Boolean);
    save.mutate({ schema_policy: String(given.get("schema_policy")), answer_fields: fields });
  };
  return (
    <form className="grid gap-4" onSubmit={submit}>
      <fieldset className="grid gap-2">
        <legend className="pb-1 font-medium">Tasks that do not fit their environment</legend>
        {POLICIES.map(([policy, text, about]) => (
          <label key={policy} className="flex items-start gap-2">
            <input type="radio" name="schema_policy" value={policy} defaultChecked={set.schema_policy === policy} className="mt-0.5" />
            <span>
              {text}. <span className="text-text-2">{about}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <label className="grid gap-1 font-medium">
        Fields that hold the expected answer
        <input className="box" name="answer_fields" defaultValue={set.answer_fields.join(", ")} placeholder="answer, expected, target, solution" autoComplete="off" aria-describedby="answer-fields-about" />
        <span id="answer-fields-about" className="text-12 font-normal text-text-2">
          Keys at any depth, with commas between; <code>gold.text</code> for one under another. Empty: the four above.
        </span>
      </label>
      {save.error && <Failed what="Could not save" error={save.error} />}
      <div className="flex justify-end">
        <button type="submit" className="btn pri" disabled={save.isPending}>
          Save
        </button>
      </div>
    </form>
  );
}
