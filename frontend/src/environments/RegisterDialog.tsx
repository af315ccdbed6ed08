/** Adds an environment, or a version of one: an image that is on the engine, a tar of a folder with a Dockerfile, or a Task App's URL. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { FormEvent } from "react";
import { useNavigate } from "react-router";
import { api } from "../api/client";
import type { EnvironmentOut, TaskAppOut } from "../api/types";
import { bytes } from "../ui/formats";
import { Failed } from "../ui/Notices";
import { Dialog } from "../ui/Overlays";
import { Segments } from "../ui/Segments";

const WAYS = [
  ["image", "Image on the engine"],
  ["tar", "Folder, as a tar"],
  ["url", "Task App"],
] as const;
type Way = (typeof WAYS)[number][0];

const ABOUT: Record<Way, string> = {
  image: "A worker finds the image, starts it once and asks which tasks it offers.",
  tar: "A worker builds the image, starts it once and asks which tasks it offers.",
  url: "An HTTP service that has both the task and the policy. Its endpoints are asked at once, and then again and again.",
};

/** A name keeps its kind: only its own ways are offered for a new version. */
const waysOf = (kind: string | undefined) => WAYS.filter(([way]) => kind === undefined || (way === "url") === (kind === "task_app"));

export function RegisterDialog({ name, kind, onClose }: { name?: string; kind?: string; onClose: () => void }) {
  const ways = waysOf(kind);
  const [way, setWay] = useState<Way>(ways[0]?.[0] ?? "image");
  const [file, setFile] = useState<File | null>(null);
  const client = useQueryClient();
  const navigate = useNavigate();
  const register = useMutation({
    mutationFn: async (form: { name: string; image: string; url: string; api_key: string }) =>
      way === "url"
        ? (await api<TaskAppOut>("/api/task-apps", { method: "POST", body: { name: form.name, url: form.url, api_key: form.api_key } })).environment
        : way === "image"
          ? api<EnvironmentOut>("/api/environments", { method: "POST", body: { name: form.name, image: form.image } })
          : api<EnvironmentOut>("/api/environments", { method: "POST", raw: file ?? new Blob(), type: typeOf(file), query: { name: form.name } }),
    onSuccess: async (made) => {
      await client.invalidateQueries({ queryKey: ["environments"] });
      onClose();
      void navigate(`/environments/${made.id}`);
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (field: string) => String(form.get(field) ?? "");
    register.mutate({ name: text("name"), image: text("image"), url: text("url"), api_key: text("api_key") });
  };
  return (
    <Dialog open onClose={onClose} title={name ? `New version of ${name}` : "Add environment"} about={ABOUT[way]}>
      <form className="grid gap-3" onSubmit={submit}>
        <Segments label="From" options={ways} value={way} onChange={setWay} />
        <label className="grid gap-1 font-medium">
          Name
          <input className="box" name="name" required maxLength={255} defaultValue={name} readOnly={name !== undefined} placeholder="as the tasks name it in env" />
        </label>
        {way === "url" ? (
          <>
            <label className="grid gap-1 font-medium">
              Address
              <input className="box mono" name="url" type="url" required maxLength={1000} placeholder="https://host, without /rollout" />
            </label>
            <label className="grid gap-1 font-medium">
              Key
              <input className="box mono" name="api_key" type="password" maxLength={1000} autoComplete="off" placeholder="what it takes as X-API-Key; kept encrypted" />
            </label>
          </>
        ) : way === "image" ? (
          <label className="grid gap-1 font-medium">
            Image
            <input className="box mono" name="image" required maxLength={512} placeholder="my-env:latest" />
          </label>
        ) : (
          <div className="grid gap-1">
            <label className="btn w-fit">
              Choose a tar
              <input type="file" className="sr-only" accept=".tar,.tgz,.gz,application/x-tar,application/gzip" onChange={(event) => setFile(event.target.files?.[0] ?? null)} />
            </label>
            <span className="text-12 text-text-3" aria-live="polite">
              {file ? `${file.name}, ${bytes(file.size)}` : "tar or tar.gz with a Dockerfile at its root: tar czf env.tar.gz -C my-env ."}
            </span>
          </div>
        )}
        {register.error && <Failed what="Could not add the environment" error={register.error} />}
        <div className="flex justify-end gap-2">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn pri" disabled={register.isPending || (way === "tar" && !file)}>
            {name ? "Add version" : "Add environment"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

const typeOf = (file: File | null) => (file && /\.t?gz$/.test(file.name) ? "application/gzip" : "application/x-tar");
