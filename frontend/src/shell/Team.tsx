/** The mark of Proctor, and the team that is asked for. */
import type { Me } from "../api/types";

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

export function TeamName({ me }: { me: Me }) {
  return (
    <>
      <Glyph />
      <span className="words min-w-0 grow">
        <span className="block truncate font-semibold leading-4">{me.team.title}</span>
        <span className="block truncate text-11 text-text-3">{me.projects.find((project) => project.is_default)?.title ?? "Proctor"}</span>
      </span>
    </>
  );
}
