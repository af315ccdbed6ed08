/** The frame of every page: side bar, breadcrumb, command menu, theme, account, live bar. Signed-out people go to sign-in and come back. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { Link, Navigate, Outlet, useLocation, useNavigate } from "react-router";
import { api, ApiError, chooseTeam } from "../api/client";
import { jobsQuery, meQuery, workersQuery } from "../api/queries";
import type { Me } from "../api/types";
import { useTeamFeed } from "../live/hooks";
import { live } from "../live/link";
import { copyText } from "../ui/Copy";
import { plural } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { shownKeys, useKeys } from "../ui/keys";
import { Boundary, Failed, Skeleton } from "../ui/Notices";
import { Menu } from "../ui/Overlays";
import { useCrumbs } from "../ui/Page";
import { Toasts, toast } from "../ui/toast";
import { useRows } from "../ui/useRows";
import { ConnectionBar } from "./ConnectionBar";
import { KeysHelp } from "./KeysHelp";
import { PLACES } from "./places";
import type { Density, Theme } from "./preferences";
import { flipTheme, setDensity, setTheme, toggleSide, useDensity, useTheme } from "./preferences";

const CommandMenu = lazy(() => import("./CommandMenu").then((module) => ({ default: module.CommandMenu })));

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
  useTeamFeed(true);
  useKeys("Go to", PLACES.map((place) => ({ keys: place.keys ?? "", what: place.text, run: () => void navigate(place.to) })));
  useKeys("Everywhere", [
    { keys: "mod+k", what: "Command menu", typing: true, run: () => setMenu((open) => !open) },
    { keys: "/", what: "Search in this page", run: () => document.querySelector<HTMLInputElement>("[data-page-search]")?.focus() },
    { keys: "n", what: "New job", run: () => void navigate("/jobs/new") },
    { keys: "[", what: "Side bar open or shut", run: toggleSide },
    { keys: "y", what: "Copy the link of this page", run: () => void copyText(window.location.href).then((done) => done && toast("Link copied")) },
    { keys: "?", what: "These keys", run: () => setKeys(true) },
  ]);
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
          <Suspense fallback={<main id="main"><Skeleton /></main>}>
            <Outlet />
          </Suspense>
        </Boundary>
      </div>
      {menu && (
        <Suspense fallback={null}>
          <CommandMenu open onClose={() => setMenu(false)} />
        </Suspense>
      )}
      <KeysHelp open={keys} onClose={() => setKeys(false)} />
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
      <TeamButton me={me} />
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
        <Link to="/settings/api-keys" title="API keys" aria-current={here("/settings") ? "page" : undefined}>
          <Icon name="key" />
          <span className="words">API keys</span>
        </Link>
      </div>
    </nav>
  );
}

export function Glyph() {
  return (
    <span className="glyph">
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" strokeLinejoin="round">
        <path d="M3.500 13V3.500h5a3 3 0 0 1 0 6.200H6" />
        <path d="m9.500 12.500 1.500 1.300 2.500-3.300" strokeWidth="1.700" />
      </svg>
    </span>
  );
}

function TeamButton({ me }: { me: Me }) {
  const client = useQueryClient();
  const name = (
    <>
      <Glyph />
      <span className="words min-w-0 grow">
        <span className="block truncate font-semibold leading-4">{me.team.title}</span>
        <span className="block truncate text-11 text-text-3">{me.projects.find((project) => project.is_default)?.title ?? "Proctor"}</span>
      </span>
    </>
  );
  if (me.teams.length < 2) return <div className="team">{name}</div>;
  const choose = (id: string) => {
    chooseTeam(id);
    void client.resetQueries();
  };
  return (
    <Menu
      label="Team"
      button={
        <button type="button" className="team" aria-label={`${me.team.title}, switch team`}>
          {name}
          <span className="words">
            <Icon name="down" small />
          </span>
        </button>
      }
      items={me.teams.map((team) => ({ text: team.title, hint: team.id === me.team.id ? "now" : team.role, run: () => choose(team.id) }))}
    />
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
      <button type="button" className="search" aria-label={`Search or jump to, ${shownKeys("mod+k")}`} onClick={onSearch}>
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

const THEMES: Theme[] = ["system", "light", "dark"];
const DENSITIES: Density[] = ["compact", "default", "comfortable"];

function Account({ me, onKeys }: { me: Me; onKeys: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const theme = useTheme();
  const density = useDensity();
  const initials = (me.name || me.email).split(/[\s.@]+/).slice(0, 2).map((word) => word.charAt(0).toUpperCase()).join("");
  const signOut = async () => {
    await api("/auth/sign-out", { method: "POST" });
    live.close();
    client.clear();
    void navigate("/sign-in");
  };
  return (
    <Menu
      label="Account"
      button={
        <button type="button" className="btn ghost icon" aria-label={`Account of ${me.name || me.email}`}>
          <span className="grid size-[22px] place-items-center rounded-full bg-accent-soft text-11 font-semibold text-accent" style={{ borderRadius: "50%" }}>
            {initials}
          </span>
        </button>
      }
      head={
        <div className="px-2 py-1">
          <div className="font-semibold">{me.name || me.email}</div>
          <div className="text-12 text-text-3">
            {me.email}, {me.team.role} of {me.team.title}
          </div>
        </div>
      }
      items={[
        null,
        ...THEMES.map((each) => ({ text: `Theme: ${each}`, hint: each === theme ? <Icon name="check" small /> : undefined, run: () => setTheme(each) })),
        null,
        ...DENSITIES.map((each) => ({ text: `Density: ${each}`, hint: each === density ? <Icon name="check" small /> : undefined, run: () => setDensity(each) })),
        null,
        { text: "Keys", hint: <kbd>?</kbd>, run: onKeys },
        { text: "Sign out", run: () => void signOut() },
      ]}
    />
  );
}
