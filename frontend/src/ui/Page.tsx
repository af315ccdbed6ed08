/** Head of every page: title of the tab, breadcrumb, one h1 that takes the focus after a route change, facts, actions, tabs. */
import { useEffect, useRef, useSyncExternalStore } from "react";
import type { ReactNode } from "react";
import { Link } from "react-router";

export interface Crumb {
  to?: string;
  text: string;
}

let crumbs: Crumb[] = [];
const listeners = new Set<() => void>();

/** The breadcrumb stands in the shell; the page says what is in it. */
export const useCrumbs = () =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => crumbs,
  );

let firstPage = true;

interface HeadProps {
  title: string;
  /** Longer, for breadcrumb and browser tab: `checkout-rounding, run 3`. */
  fullTitle?: string;
  /** Leads the tab's title while something runs: `78 %`. */
  lead?: string | undefined;
  trail?: Crumb[];
  state?: ReactNode;
  meta?: ReactNode;
  actions?: ReactNode;
}

export function PageHead({ title, fullTitle = title, lead, trail = [], state, meta, actions }: HeadProps) {
  const h1 = useRef<HTMLHeadingElement>(null);
  const path = JSON.stringify([...trail, { text: fullTitle }]);
  useEffect(() => {
    crumbs = JSON.parse(path) as Crumb[];
    listeners.forEach((tell) => tell());
  }, [path]);
  useEffect(() => {
    if (!firstPage) h1.current?.focus({ preventScroll: true });
    firstPage = false;
  }, []);
  return (
    <div className="head">
      <title>{`${lead ? `${lead} · ` : ""}${fullTitle} · Proctor`}</title>
      <div className="min-w-0 grow">
        <div className="flex flex-wrap items-center gap-2">
          <h1 ref={h1} tabIndex={-1} className="max-w-full truncate" title={title}>
              {title}
            </h1>
          {state}
        </div>
        {meta && <div className="meta">{meta}</div>}
      </div>
      {actions && <div className="acts">{actions}</div>}
    </div>
  );
}

export interface Tab {
  to: string;
  text: string;
  n?: string | undefined;
  current: boolean;
}

/** Tabs that are pages: links with aria-current. */
export function Tabs({ label, tabs }: { label: string; tabs: Tab[] }) {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <Link key={tab.to} to={tab.to} aria-current={tab.current ? "page" : undefined} replace>
          {tab.text}
          {tab.n !== undefined && <span className="n">{tab.n}</span>}
        </Link>
      ))}
    </nav>
  );
}
