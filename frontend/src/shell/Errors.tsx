/** 404 and a page that broke. */
import { Link, useRouteError } from "react-router";
import { Empty, Failed } from "../ui/Notices";
import { PageHead } from "../ui/Page";

export function NotFound({ what = "page" }: { what?: string }) {
  return (
    <main id="main" className="page">
      <PageHead title="Nothing here, or not yours" />
      <Empty
        title={`There is no ${what} at this address.`}
        action={
          <>
            <Link className="btn" to="/jobs">
              All jobs
            </Link>
            <Link className="btn" to="/tasksets">
              All tasksets
            </Link>
          </>
        }
      >
        It may belong to another team, or have been removed. Ids can be pasted into the search box above.
      </Empty>
    </main>
  );
}

export function Broken() {
  const error = useRouteError();
  return (
    <main id="main" className="page">
      <h1 className="sr-only">Proctor</h1>
      <Failed what="Could not show this page" error={error} retry={() => window.location.reload()} />
    </main>
  );
}
