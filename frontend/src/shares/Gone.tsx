/** A share link that shows nothing: wrong, ended, revoked, or what it showed is gone; or the server did not answer. */
import { ApiError } from "../api/client";
import { Failed, Skeleton } from "../ui/Notices";

export function Gone({ what, error, retry }: { what: string; error: Error | null; retry: () => void }) {
  if (!error) return <main id="main" className="page"><Skeleton /></main>;
  const ended = error instanceof ApiError && (error.status === 404 || error.status === 410);
  return (
    <main id="main" className="page">
      <title>Nothing to show · Proctor</title>
      {ended ? (
        <div className="mx-auto grid max-w-[560px] gap-2 px-4 py-16 text-center">
          <h1>Nothing to show here</h1>
          <p className="text-text-2">{error.message}. Ask whoever gave you the link for a new one.</p>
        </div>
      ) : (
        <>
          <h1 className="sr-only">Share link</h1>
          <Failed what={`Could not load ${what}`} error={error} retry={retry} />
        </>
      )}
    </main>
  );
}
