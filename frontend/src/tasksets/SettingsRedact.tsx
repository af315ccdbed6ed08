/** Settings: redact one task in every version. Says in which versions it was, and what else showed the very same content. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { api } from "../api/client";
import type { RedactOut, TasksetOut } from "../api/types";
import { plural } from "../ui/formats";
import { Failed } from "../ui/Notices";
import { useIsAdmin } from "../shell/admin";

export function Redact({ set }: { set: TasksetOut }) {
  const admin = useIsAdmin();
  const client = useQueryClient();
  const redact = useMutation({
    mutationFn: (body: { slug: string; reason: string }) => api<RedactOut>(`/api/tasksets/${set.id}/redact`, { method: "POST", body }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["tasksets"] }),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    redact.mutate({ slug: String(form.get("slug")), reason: String(form.get("reason")) });
  };
  return (
    <form className="grid gap-3" onSubmit={submit}>
      <fieldset disabled={!admin} className="grid gap-3 md:grid-cols-[200px_minmax(0,1fr)_auto] md:items-end">
        <label className="grid gap-1 font-medium">
          Slug
          <input className="box" name="slug" required autoComplete="off" />
        </label>
        <label className="grid gap-1 font-medium">
          Reason, shown in its place
          <input className="box" name="reason" required maxLength={500} autoComplete="off" />
        </label>
        <button type="submit" className="btn danger" disabled={redact.isPending}>
          Redact the task
        </button>
      </fieldset>
      {!admin && <p className="text-12 text-text-2">Only admins can redact.</p>}
      {redact.data && <p role="status">{redactedInWords(redact.data)}</p>}
      {redact.error && <Failed what="Could not redact" error={redact.error} />}
    </form>
  );
}

function redactedInWords({ slug, versions, also_in }: RedactOut): string {
  const also = also_in.map((place) => `${place.slug} of ${place.taskset}`).join(", ");
  return `${slug} is redacted in ${plural(versions.length, "version")} (${versions.map((number) => `v${number}`).join(", ")}).${also ? ` The same content was also ${also}: redacted too.` : ""}`;
}
