/** A part of the page's state that stands in the address, and how to change it without a new place in the history. */
import { useEffect } from "react";
import { useLocation, useSearchParams } from "react-router";

/** Without a new place in the history, and drawn at once: a box that shows what the address says would jump back until then. */
export const IN_PLACE = { replace: true, flushSync: true } as const;

/** What was asked for last, by whichever part of the page: keys may come quicker than the address follows. */
let asked: { path: string; params: URLSearchParams; at: number } | null = null;
const PENDING_MS = 1000;

/** What is drawn, how to change it, and what was asked for last: who moves on from where one is must ask for that. */
export function useAddress(): [URLSearchParams, (changes: Record<string, string>) => void, () => URLSearchParams] {
  const [params, setParams] = useSearchParams();
  const { pathname } = useLocation();
  useEffect(() => {
    if (asked?.params.toString() === params.toString()) asked = null;
  }, [params]);
  const latest = () => (asked?.path === pathname && Date.now() - asked.at < PENDING_MS ? asked.params : params);
  const put = (changes: Record<string, string>) => {
    const next = new URLSearchParams(latest());
    for (const [name, value] of Object.entries(changes)) {
      if (value) next.set(name, value);
      else next.delete(name);
    }
    asked = { path: pathname, params: next, at: Date.now() };
    setParams(next, IN_PLACE);
  };
  return [params, put, latest];
}
