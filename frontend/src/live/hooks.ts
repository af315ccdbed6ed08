/** React's side of the feeds: one feed per mounted page. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { JobFeed } from "./JobFeed";
import { live } from "./link";
import { pulse } from "./pulse";
import { RunFeed } from "./RunFeed";

export function useJobFeed(id: string) {
  const feed = useMemo(() => new JobFeed(id), [id]);
  useEffect(() => feed.start(), [feed]);
  return { ...useSyncExternalStore(feed.subscribe, feed.snapshot), feed };
}

export function useRunFeed(id: string, attempt: number | null) {
  const feed = useMemo(() => new RunFeed(id, attempt), [id, attempt]);
  useEffect(() => feed.start(), [feed]);
  return { ...useSyncExternalStore(feed.subscribe, feed.snapshot), feed };
}

/** Lists of jobs are read again when the team's jobs change, once in two seconds at most. */
export function useTeamFeed() {
  const client = useQueryClient();
  useEffect(() => {
    const beat = pulse(() => {
      void client.invalidateQueries({ queryKey: ["jobs", "list"] });
      void client.invalidateQueries({ queryKey: ["tasksets", "list"] });
    }, 2000);
    const stop = live.follow({ topic: "team", after: null, events: beat.beat, resync: beat.beat });
    return () => {
      stop();
      beat.stop();
    };
  }, [client]);
}
