/** Empty, error and loading: each says what is so and what to do next. */
import { Component, useEffect, useState } from "react";
import type { ReactNode } from "react";
import { ApiError } from "../api/client";
import { Command, Copy } from "./Copy";
import { Icon } from "./Icon";
import { State } from "./State";

export function Empty({ title, children, action, command }: { title: string; children?: ReactNode; action?: ReactNode; command?: string }) {
  return (
    <div className="mx-auto grid max-w-[560px] justify-items-center gap-2 px-4 py-10 text-center">
      <p className="font-semibold">{title}</p>
      {children && <p className="text-text-2">{children}</p>}
      {action && <div className="mt-1 flex flex-wrap justify-center gap-2">{action}</div>}
      {command && (
        <div className="mt-2 max-w-full">
          <Command code={command} label="command" />
        </div>
      )}
    </div>
  );
}

/** What failed, why, what to try, and the id. Errors appear where they happened. */
export function Failed({ what, error, retry }: { what: string; error: unknown; retry?: (() => void) | undefined }) {
  const known = error instanceof ApiError ? error : null;
  const why = error instanceof Error ? error.message : "Something went wrong.";
  return (
    <div role="alert" className="m-4 flex gap-2">
      <State kind="bad">
        <span className="sr-only">error</span>
      </State>
      <div className="grid min-w-0 gap-1">
        <p className="font-semibold">{what}</p>
        <p className="text-text-2 [overflow-wrap:anywhere]">{why}</p>
        {known && known.problems.length > 0 && (
          <ul className="grid gap-0.5 text-12 text-text-2">
            {known.problems.slice(0, 20).map((problem, index) => (
              <li key={index}>
                {problem.path && <code className="text-text">{problem.path}</code>} {problem.rule}
                {problem.value !== null && problem.value !== undefined && <> Given: {problem.value}</>}
              </li>
            ))}
          </ul>
        )}
        <div className="mt-1 flex flex-wrap items-center gap-2">
          {retry && (
            <button type="button" className="btn" onClick={retry}>
              <Icon name="again" /> Retry
            </button>
          )}
          {known?.requestId && (
            <span className="id">
              {known.requestId}
              <Copy text={known.requestId} label="Copy error id" />
            </span>
          )}
        </div>
      </div>
    </div>
  );
}

/** Rows of true height, and only after a moment: fast answers flash nothing. */
export function Skeleton({ rows = 8 }: { rows?: number }) {
  const [shown, show] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => show(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div aria-busy="true" className="px-6 py-2">
      <span className="sr-only">Loading</span>
      {shown &&
        Array.from({ length: rows }, (_, index) => (
          <div key={index} className="flex h-(--row) items-center" aria-hidden="true">
            <div className="h-3 rounded-1 bg-sunken" style={{ width: `${[62, 88, 40, 74][index % 4]}%` }} />
          </div>
        ))}
    </div>
  );
}

/** A part that breaks never takes the page. */
export class Boundary extends Component<{ what: string; children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null };
  static getDerivedStateFromError(error: unknown) {
    return { error };
  }
  override render() {
    if (!this.state.error) return this.props.children;
    return <Failed what={`Could not show ${this.props.what}`} error={this.state.error} retry={() => this.setState({ error: null })} />;
  }
}
