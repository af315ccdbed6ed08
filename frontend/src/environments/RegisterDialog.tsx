/** Adds an environment, or a version of one: an image that is on the engine, or a tar of a folder with a Dockerfile. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { FormEvent } from "react";
import { useNavigate } from "react-router";
import { api } from "../api/client";
import type { EnvironmentOut } from "../api/types";
import { bytes } from "../ui/formats";
import { Failed } from "../ui/Notices";
import { Dialog } from "../ui/Overlays";
import { Segments } from "../ui/Segments";

const WAYS = [
  ["image", "Image on the engine"],
  ["tar", "Folder, as a tar"],
] as const;

export function RegisterDialog({ name, onClose }: { name?: string; onClose: () => void }) {
  const [way, setWay] = useState<"image" | "tar">("image");
  const [file, setFile] = useState<File | null>(null);
  const client = useQueryClient();
  const navigate = useNavigate();
  const register = useMutation({
    mutationFn: (form: { name: string; image: string }) =>
      way === "image"
        ? api<EnvironmentOut>("/api/environments", { method: "POST", body: form })
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
    register.mutate({ name: String(form.get("name")), image: String(form.get("image") ?? "") });
  };
  return (
    <Dialog open onClose={onClose} title={name ? `New version of ${name}` : "Add environment"} about="A worker builds or finds the image, starts it once and asks which tasks it offers.">
      <form className="grid gap-3" onSubmit={submit}>
        <Segments label="From" options={WAYS} value={way} onChange={setWay} />
        <label className="grid gap-1 font-medium">
          Name
          <input className="box" name="name" required maxLength={255} defaultValue={name} readOnly={name !== undefined} placeholder="as the tasks name it in env" />
        </label>
        {way === "image" ? (
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
