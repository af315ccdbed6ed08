/** A part of the page's state that stands in the address, and how to change it without a new place in the history. */
import { useEffect, useRef } from "react";
import { useSearchParams } from "react-router";

export function useAddress(): [URLSearchParams, (changes: Record<string, string>) => void] {
  const [params, setParams] = useSearchParams();
  /** What was asked for last: keys may come quicker than the address follows. */
  const latest = useRef(params);
  useEffect(() => {
    latest.current = params;
  }, [params]);
  const put = (changes: Record<string, string>) => {
    const next = new URLSearchParams(latest.current);
    for (const [name, value] of Object.entries(changes)) {
      if (value) next.set(name, value);
      else next.delete(name);
    }
    latest.current = next;
    setParams(next, { replace: true });
  };
  return [params, put];
}
