/** Calls `flush` at most once per period, and not at all while the tab is hidden: then once on return. */

export function pulse(flush: () => void, periodMs = 250) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = 0;
  const run = () => {
    timer = undefined;
    if (document.hidden) return;
    last = Date.now();
    flush();
  };
  const beat = () => {
    if (timer === undefined) timer = setTimeout(run, Math.max(0, last + periodMs - Date.now()));
  };
  const seen = () => {
    if (!document.hidden) beat();
  };
  document.addEventListener("visibilitychange", seen);
  return {
    beat,
    stop: () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    },
  };
}
