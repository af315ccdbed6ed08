/** What a page about one object shows until it is there: skeleton, 404, or what went wrong. */
import { ApiError } from "../api/client";
import { Failed, Skeleton } from "../ui/Notices";
import { PageHead } from "../ui/Page";
import { NotFound } from "./Errors";

export function Load({ what, error, retry }: { what: string; error: unknown; retry: () => void }) {
  if (error instanceof ApiError && (error.status === 404 || error.status === 410)) return <NotFound what={what} />;
  return (
    <main id="main" className="page">
      <PageHead title={what.charAt(0).toUpperCase() + what.slice(1)} />
      {error ? <Failed what={`Could not load the ${what}`} error={error} retry={retry} /> : <Skeleton />}
    </main>
  );
}
