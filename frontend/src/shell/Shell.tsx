/** The frame of every page: side bar, breadcrumb, command menu, theme, account, live bar. Signed-out people go to sign-in and come back. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link, Navigate, Outlet, useLocation, useNavigate } from "react-router";
import { ApiError } from "../api/client";
import { jobsQuery, meQuery, workersQuery } from "../api/queries";
import type { Me } from "../api/types";
import { useTeamFeed } from "../live/hooks";
import { copyText } from "../ui/Copy";
import { plural } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { SHELL, shownKeys, useKeys } from "../ui/keys";
import { Boundary, Failed, Skeleton } from "../ui/Notices";
import { useCrumbs } from "../ui/Page";
import { chunk } from "../ui/chunk";
import { Toasts, toast } from "../ui/toast";
import { useRows } from "../ui/useRows";
import { ConnectionBar } from "./ConnectionBar";
import { PLACES } from "./places";
import { flipTheme, suitSide, toggleSide } from "./preferences";
import { TeamName } from "./Team";

/** Menus and dialogs come after the first paint: until then their buttons stand there, without effect. */
const Account = chunk(async () => ({ default: (await import("./Account")).Account }), <span className="btn ghost icon" />);
const TeamSwitch = chunk(async () => ({ default: (await import("./Account")).TeamSwitch }), <div className="team" />);
const KeysHelp = chunk(async () => ({ default: (await import("./KeysHelp")).KeysHelp }), null);
const CommandMenu = chunk(async () => ({ default: (await import("./CommandMenu")).CommandMenu }), null);

export function Shell() {
  const me = useQuery(meQuery);
  const location = useLocation();
  if (me.data) return <Frame me={me.data} />;
  if (me.error instanceof ApiError && me.error.status === 401) {
    const next = location.pathname === "/" ? "" : `?next=${encodeURIComponent(location.pathname + location.search)}`;
    return <Navigate to={`/sign-in${next}`} replace />;
  }
  if (me.error) return <Failed what="Could not open Proctor" error={me.error} retry={() => void me.refetch()} />;
  return <Skeleton rows={3} />;
}

function Frame({ me }: { me: Me }) {
  const [menu, setMenu] = useState(false);
  const [keys, setKeys] = useState(false);
  const navigate = useNavigate();
  const { pathname } = useLocation();
  useEffect(() => suitSide(pathname), [pathname]);
  useTeamFeed();
  useKeys("Go to", PLACES.flatMap((place) => (place.keys ? [{ keys: place.keys, what: place.text, run: () => void navigate(place.to) }] : [])), SHELL);
  useKeys("Everywhere", [
    { keys: "mod+k", what: "Command menu", typing: true, run: () => setMenu((open) => !open) },
    { keys: "/", what: "Search in this page", run: () => document.querySelector<HTMLInputElement>("[data-page-search]")?.focus() },
    { keys: "n", what: "New job", run: () => void navigate("/jobs/new") },
    { keys: "[", what: "Side bar open or shut", run: toggleSide },
    { keys: "y", what: "Copy the link of this page", run: () => void copyText(window.location.href).then((done) => done && toast("Link copied")) },
    { keys: "?", what: "These keys", run: () => setKeys(true) },
  ], SHELL);
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <Side me={me} />
      <div className="main">
        <Top me={me} onSearch={() => setMenu(true)} onKeys={() => setKeys(true)} />
        <ConnectionBar />
        <Boundary key={pathname} what="this page">
          <Outlet />
        </Boundary>
      </div>
      {menu && (
        <CommandMenu open onClose={() => setMenu(false)} />
      )}
      {keys && (
        <KeysHelp open onClose={() => setKeys(false)} />
      )}
      <Toasts />
    </div>
  );
}

function Side({ me }: { me: Me }) {
  const { pathname } = useLocation();
  const running = useRows(jobsQuery({ state: "running", limit: 50 })).rows.length;
  const here = (to: string) => (to === "/" ? pathname === "/" : pathname.startsWith(to) || (to === "/jobs" && pathname.startsWith("/trace")));
  return (
    <nav className="side" aria-label="Main">
      {me.teams.length > 1 ? (
        <TeamSwitch me={me} />
      ) : (
        <div className="team">
          <TeamName me={me} />
        </div>
      )}
      <div className="nav">
        {PLACES.filter((place) => !place.to.startsWith("/settings")).map((place) => (
          <Link key={place.to} to={place.to} aria-current={here(place.to) ? "page" : undefined} title={place.text}>
            <Icon name={place.icon} />
            <span className="words">{place.text}</span>
            {place.to === "/jobs" && running > 0 && <span className="cnt words">{running} running</span>}
          </Link>
        ))}
        <Link to="/settings/api-keys" className="md:hidden!" aria-current={here("/settings") ? "page" : undefined}>
          <Icon name="key" />
          <span className="words">Keys</span>
        </Link>
      </div>
      <div className="desk grow" />
      <Capacity />
      <div className="nav desk">
        {PLACES.filter((place) => place.to.startsWith("/settings")).map((place) => (
          <Link key={place.to} to={place.to} title={place.text} aria-current={here(place.to) ? "page" : undefined}>
            <Icon name={place.icon} />
            <span className="words">{place.text}</span>
          </Link>
        ))}
      </div>
    </nav>
  );
}

function Capacity() {
  const { data } = useQuery(workersQuery);
  if (!data) return <div className="desk" />;
  const slots = data.items.reduce((sum, worker) => sum + worker.slots, 0);
  const busy = data.items.reduce((sum, worker) => sum + worker.busy, 0);
  if (data.items.length === 0) {
    return (
      <div className="desk words flex items-center gap-2 p-2 text-12 text-warn">
        <Icon name="warn" small /> No worker is up: jobs wait.
      </div>
    );
  }
  return (
    <div className="desk words p-2" title={data.items.map((worker) => `${worker.host}: ${worker.busy} of ${worker.slots}, ${worker.sandbox ?? "no sandbox yet"}`).join("\n")}>
      <div className="flex justify-between text-12">
        <span className="text-text-2">{plural(data.items.length, "worker")}</span>
        <span className="tnum text-text-3">
          {busy} of {slots} slots
        </span>
      </div>
      <div className="bar mt-1.5" role="img" aria-label={`${busy} of ${slots} slots in use`}>
        <i className="running" style={{ width: `${slots ? (busy / slots) * 100 : 0}%` }} />
      </div>
    </div>
  );
}

function Top({ me, onSearch, onKeys }: { me: Me; onSearch: () => void; onKeys: () => void }) {
  return (
    <header className="top">
      <Crumbs />
      <span className="grow" />
      <button type="button" className="search" title={shownKeys("mod+k")} onClick={onSearch}>
        <Icon name="search" />
        <span className="grow">Search or jump to</span>
        <kbd>{shownKeys("mod+k")}</kbd>
      </button>
      <button type="button" className="btn ghost icon" aria-label="Switch theme" title="Switch theme" onClick={flipTheme}>
        <Icon name="theme" />
      </button>
      <Account me={me} onKeys={onKeys} />
    </header>
  );
}

function Crumbs() {
  const crumbs = useCrumbs();
  return (
    <nav className="crumbs" aria-label="Breadcrumb">
      <ol>
        {crumbs.map((crumb, index) => (
          <li key={index}>
            {index === crumbs.length - 1 || !crumb.to ? (
              <span aria-current={index === crumbs.length - 1 ? "page" : undefined}>{crumb.text}</span>
            ) : (
              <Link to={crumb.to}>{crumb.text}</Link>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}
