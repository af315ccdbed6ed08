/** Upload tasks from a file, dropped or picked: checks that it is JSON or JSONL, then merges by slug into a taskset, new or given. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { FormEvent } from "react";
import { useNavigate } from "react-router";
import { api } from "../api/client";
import type { TasksetOut, UploadOut } from "../api/types";
import { bytes, plural } from "../ui/formats";
import { Failed } from "../ui/Notices";
import { Dialog } from "../ui/Overlays";
import { toast } from "../ui/toast";
import type { Rows } from "./rows";
import { rowsOf } from "./rows";

interface Picked {
  name: string;
  size: number;
  rows: Rows | null;
  problem: string | null;
}

async function pick(file: File): Promise<Picked> {
  const base = { name: file.name, size: file.size };
  try {
    return { ...base, rows: rowsOf(await file.text()), problem: null };
  } catch (reason) {
    return { ...base, rows: null, problem: reason instanceof Error ? reason.message : "Could not read the file." };
  }
}

export function UploadDialog({ taskset, onClose }: { taskset?: TasksetOut; onClose: () => void }) {
  const [picked, setPicked] = useState<Picked | null>(null);
  const navigate = useNavigate();
  const client = useQueryClient();
  const upload = useMutation({
    mutationFn: async (form: { name: string; mode: string; message: string }) => {
      const target = taskset ?? (await api<TasksetOut>("/api/tasksets", { method: "POST", body: { name: form.name } }));
      const query = { mode: form.mode, message: form.message };
      return api<UploadOut>(`/api/tasksets/${target.id}/upload`, { method: "POST", raw: picked?.rows?.body ?? "", query, repeatable: true });
    },
    onSuccess: async (done) => {
      await client.invalidateQueries({ queryKey: ["tasksets"] });
      toast(said(done));
      onClose();
      void navigate(`/tasksets/${done.taskset.id}`);
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    upload.mutate({ name: String(form.get("name") ?? ""), mode: String(form.get("mode")), message: String(form.get("message")) });
  };
  return (
    <Dialog open onClose={onClose} title={taskset ? `Upload tasks to ${taskset.title}` : "Upload tasks"} about="Rows as the HUD export has them: slug, env, id, args, columns. Rows that are not in the file stay." wide>
      <form className="grid gap-3" onSubmit={submit}>
        <FileField onPick={(file) => void pick(file).then(setPicked)} picked={picked} />
        {!taskset && (
          <label className="grid gap-1 font-medium">
            Taskset
            <input className="box" name="name" required maxLength={255} placeholder="name of a new taskset" />
          </label>
        )}
        <div className="grid gap-3 sm:grid-cols-2">
          <label className="grid gap-1 font-medium">
            What happens to rows
            <select className="box" name="mode" defaultValue="merge">
              <option value="merge">Add or update by slug</option>
              <option value="replace">Replace all</option>
              <option value="remove">Remove the listed</option>
            </select>
          </label>
          <label className="grid gap-1 font-medium">
            Message
            <input className="box" name="message" maxLength={500} placeholder="what changed, for the version list" />
          </label>
        </div>
        {upload.error && <Failed what="Could not upload" error={upload.error} />}
        <div className="flex justify-end gap-2">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn pri" disabled={!picked?.rows || upload.isPending}>
            {upload.isPending ? "Uploading" : picked?.rows ? `Upload ${plural(picked.rows.count, "task")}` : "Upload"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function FileField({ onPick, picked }: { onPick: (file: File) => void; picked: Picked | null }) {
  return (
     
    <div
      className="grid justify-items-center gap-1 rounded-3 border border-dashed border-control px-4 py-6 text-center"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        const file = event.dataTransfer.files[0];
        if (file) onPick(file);
      }}
    >
      <label className="btn">
        Choose a file
        <input type="file" className="sr-only" accept=".json,.jsonl,.ndjson,application/json" onChange={(event) => event.target.files?.[0] && onPick(event.target.files[0])} />
      </label>
      <span className="text-12 text-text-3">or drop it here: JSON list, HUD export, or JSONL</span>
      <span aria-live="polite" className={picked?.problem ? "text-bad" : "text-text-2"}>
        {picked && `${picked.name}, ${bytes(picked.size)}${picked.rows ? `, ${plural(picked.rows.count, "task")}` : ""}`}
        {picked?.problem && `. ${picked.problem}`}
      </span>
    </div>
  );
}

function said(done: UploadOut): string {
  const parts = [
    done.tasks_created && `${plural(done.tasks_created, "task")} new`,
    done.tasks_updated && `${plural(done.tasks_updated, "task")} changed`,
    done.tasks_removed && `${plural(done.tasks_removed, "task")} removed`,
  ].filter(Boolean);
  return parts.length && done.version ? `v${done.version.number}: ${parts.join(", ")}` : "Nothing changed, no new version";
}
