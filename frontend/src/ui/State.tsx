/** A state is a shape, a word and a colour, in that order of trust. */
import type { ReactNode } from "react";

export type StateKind = "run" | "ok" | "bad" | "can" | "pen" | "warn";

const SHAPES: Record<StateKind, ReactNode> = {
  run: (
    <>
      <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeWidth="2" opacity=".25" />
      <circle className="spin" cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeWidth="2" strokeDasharray="11 40" strokeLinecap="round" />
    </>
  ),
  ok: (
    <>
      <circle cx="8" cy="8" r="7" fill="currentColor" />
      <path d="m4.8 8.300 2.200 2.200 4.200-4.700" fill="none" stroke="var(--surface)" strokeWidth="1.8" strokeLinecap="round" strokeLinejoin="round" />
    </>
  ),
  bad: (
    <>
      <path d="M5.100 1h5.800L15 5.100v5.800L10.900 15H5.100L1 10.900V5.100z" fill="currentColor" />
      <path d="m5.600 5.600 4.800 4.800M10.400 5.600l-4.800 4.800" stroke="var(--surface)" strokeWidth="1.7" strokeLinecap="round" />
    </>
  ),
  warn: (
    <>
      <path d="M8 1.500 15.300 14H.7z" fill="currentColor" />
      <path d="M8 6v3.800M8 11.800v.2" stroke="var(--surface)" strokeWidth="1.7" strokeLinecap="round" />
    </>
  ),
  can: (
    <>
      <circle cx="8" cy="8" r="6.200" fill="none" stroke="currentColor" strokeWidth="1.6" />
      <path d="m3.800 12.200 8.400-8.400" stroke="currentColor" strokeWidth="1.6" />
    </>
  ),
  pen: <circle cx="8" cy="8" r="6.200" fill="none" stroke="currentColor" strokeWidth="1.6" strokeDasharray="2 2.600" />,
};

export function State({ kind, children }: { kind: StateKind; children: ReactNode }) {
  return (
    <span className={`st ${kind}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {SHAPES[kind]}
      </svg>
      {children}
    </span>
  );
}
