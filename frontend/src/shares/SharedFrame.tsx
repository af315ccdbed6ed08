/** The frame of what a share link shows: no side bar, no account, nothing to do but look. Works signed out. */
import { Link, Outlet, useParams } from "react-router";
import { flipTheme } from "../shell/preferences";
import { Glyph } from "../shell/Team";
import { Icon } from "../ui/Icon";
import { Boundary } from "../ui/Notices";

export function SharedFrame() {
  const { token = "" } = useParams();
  return (
    <div className="shared">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="top">
        <Link className="plain flex items-center gap-2" to={`/share/${token}`}>
          <Glyph /> <span>Shared from Proctor, read-only</span>
        </Link>
        <span className="grow" />
        <button type="button" className="btn ghost icon" aria-label="Switch theme" title="Switch theme" onClick={flipTheme}>
          <Icon name="theme" />
        </button>
      </header>
      <Boundary what="this page">
        <Outlet />
      </Boundary>
    </div>
  );
}
