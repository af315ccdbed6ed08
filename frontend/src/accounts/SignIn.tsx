/** Get in, and know where you are. One message for both fields; goes back to where you were. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { Navigate, useSearchParams } from "react-router";
import { api, ApiError, rememberCsrf } from "../api/client";
import { meQuery } from "../api/queries";
import type { Me } from "../api/types";
import { Glyph } from "../shell/Team";

/** Only paths of our own: `//host` and `/\host` lead elsewhere. */
const ownPath = (next: string | null) => (next && /^\/(?![/\\])/.test(next) ? next : "/");

export default function SignIn() {
  const [params] = useSearchParams();
  const client = useQueryClient();
  const me = useQuery(meQuery);
  const signIn = useMutation({
    mutationFn: (body: { email: string; password: string }) => api<Me>("/auth/sign-in", { method: "POST", body, repeatable: true }),
    onSuccess: (known) => {
      rememberCsrf(known.csrf_token);
      client.setQueryData(meQuery.queryKey, known);
    },
  });
  if (me.data) return <Navigate to={ownPath(params.get("next"))} replace />;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    signIn.mutate({ email: String(form.get("email")), password: String(form.get("password")) });
  };
  const wrong = signIn.error instanceof ApiError ? signIn.error : null;
  return (
      <main id="main" className="mx-auto grid w-[min(360px,calc(100vw-32px))] gap-4 pt-[22dvh]">
        <title>Sign in · Proctor</title>
        <div className="flex items-center gap-3">
          <Glyph />
          <div>
            <h1>Sign in to Proctor</h1>
            <p className="text-12 text-text-3">{location.host}</p>
          </div>
        </div>
        <form className="card grid gap-3 p-4" onSubmit={submit}>
          <label className="grid gap-1 font-medium">
            E-mail
            <input className="box" name="email" type="email" autoComplete="username" required autoFocus aria-invalid={wrong?.status === 401} aria-describedby="sign-in-error" />
          </label>
          <label className="grid gap-1 font-medium">
            Password
            <input className="box" name="password" type="password" autoComplete="current-password" required aria-invalid={wrong?.status === 401} aria-describedby="sign-in-error" />
          </label>
          <p id="sign-in-error" role="alert" className="text-bad empty:hidden">
            {wrong?.message}
          </p>
          <button className="btn pri" type="submit" disabled={signIn.isPending}>
            Sign in
          </button>
        </form>
        <p className="text-12 text-text-2">
          First time here? The admin&apos;s e-mail and password were printed where the server was started, and stand in a file in its data folder.
        </p>
      </main>
  );
}
