/** A time that reads short and keeps itself fresh; the whole local and UTC time is in the tip. */
import { useSyncExternalStore } from "react";
import { ABSENT, duration, fullTime, when } from "./formats";

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let second = Math.floor(Date.now() / 1000);

function subscribe(listener: () => void) {
  listeners.add(listener);
  timer ??= setInterval(() => {
    second = Math.floor(Date.now() / 1000);
    listeners.forEach((tell) => tell());
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The clock in whole steps: renders again only when the step changes. */
export function useNow(stepS = 1): number {
  return useSyncExternalStore(subscribe, () => Math.floor(second / stepS) * stepS * 1000);
}

export function Time({ at, none = ABSENT }: { at: string | null | undefined; none?: string }) {
  const now = useNow(20);
  if (!at) return <span>{none}</span>;
  return (
    <time dateTime={at} title={fullTime(at)} className="tnum">
      {when(at, new Date(now))}
    </time>
  );
}

/** Seconds since, counting up while something runs. */
export function Age({ since, until }: { since: string | null; until?: string | null }) {
  const now = useNow(until ? 3600 : 1);
  if (!since) return <span>{ABSENT}</span>;
  const end = until ? Date.parse(until) : Math.max(now, Date.parse(since));
  return <span className="tnum">{duration((end - Date.parse(since)) / 1000)}</span>;
}
