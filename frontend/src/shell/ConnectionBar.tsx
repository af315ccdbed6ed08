/** Says when live updates stopped, when they are tried again, and that they are back. Nothing for the first two seconds. */
import { useEffect, useState } from "react";
import { live, useLink } from "../live/link";
import { Icon } from "../ui/Icon";
import { useNow } from "../ui/Time";

const clock = (ms: number) => new Date(ms).toTimeString().slice(0, 8);

export function ConnectionBar() {
  const link = useLink();
  const now = useNow();
  const lost = link.kind === "lost" && now - link.since > 2000;
  const back = useBack(link.kind === "live", lost);
  if (link.kind === "lost" && lost) {
    const wait = Math.max(0, Math.ceil((link.retryAt - now) / 1000));
    return (
      <div className="banner warn" role="status">
        <Icon name="warn" />
        <span>
          Live updates stopped at {clock(link.since)}. {wait > 0 ? `Trying again in ${wait} s.` : "Trying again now."}
        </span>
        <button type="button" className="btn ghost" style={{ color: "inherit" }} onClick={live.retry}>
          Try now
        </button>
      </div>
    );
  }
  if (!back) return <div />;
  return (
    <div className="banner good" role="status">
      Live updates are back, caught up.
    </div>
  );
}

/** True for two seconds after a loss that was shown has ended. */
function useBack(isLive: boolean, lost: boolean): boolean {
  const [wasLost, setWasLost] = useState(false);
  if (lost && !wasLost) setWasLost(true);
  useEffect(() => {
    if (!isLive || !wasLost) return;
    const timer = setTimeout(() => setWasLost(false), 2000);
    return () => clearTimeout(timer);
  }, [isLive, wasLost]);
  return isLive && wasLost;
}
