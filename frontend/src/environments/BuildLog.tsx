/** A version's log: what the server had, then each line as it comes over the socket. Stays at the end while the reader is there. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { environmentVersionQuery, environmentVersionsQuery } from "../api/queries";
import type { EnvironmentOut, EnvironmentVersionOut, LiveEvent } from "../api/types";
import { live } from "../live/link";
import { Copy } from "../ui/Copy";
import { busy } from "./busy";

const SHOWN = 256 * 1024;
const AT_END_PX = 24;

export function BuildLog({ env, version }: { env: EnvironmentOut; version: EnvironmentVersionOut }) {
  const text = useLiveLog(env, version);
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    if (box.current && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  if (!text && !busy(version)) return null;
  return (
    <section className="card" aria-label="Build log">
      <header>
        <h2>Log</h2>
        {busy(version) && <span className="tag">live</span>}
        <div className="acts">
          <a className="btn ghost" href={`/api/environments/${env.id}/versions/${version.number}/log`} target="_blank" rel="noreferrer">
            Whole log
          </a>
          <Copy text={text} label="Copy the log" />
        </div>
      </header>
      <div className="p-3">
        <div
          ref={box}
          className="term max-h-[520px] min-h-16"
          role="log"
          aria-live="off"
          aria-label="Build log"
          tabIndex={0}
          onScroll={(event) => (atEnd.current = event.currentTarget.scrollHeight - event.currentTarget.scrollTop - event.currentTarget.clientHeight < AT_END_PX)}
        >
          {text || "Nothing yet: the next free worker begins with it."}
        </div>
      </div>
    </section>
  );
}

/** The snapshot and what was appended since. When the state changes, everything that shows it is read again. */
function useLiveLog(env: EnvironmentOut, version: EnvironmentVersionOut) {
  const client = useQueryClient();
  const [more, setMore] = useState("");
  const [start, setStart] = useState(version);
  const following = busy(version);
  useEffect(() => {
    if (!following) return;
    const { id, log_seq, number } = start;
    const query = environmentVersionQuery(env.id, number);
    const heard = (events: LiveEvent[]) => {
      const lines = events.map((event) => (event.kind === "build_log" ? event.text : "")).join("");
      if (lines) setMore((before) => (before + lines).slice(-SHOWN));
      const last = events.findLast((event) => event.kind === "build");
      if (last?.kind !== "build") return;
      client.setQueryData(query.queryKey, (known) => known && { ...last.version, log: known.log, log_seq: known.log_seq });
      void client.invalidateQueries({ queryKey: ["environments", "one", env.id] });
      void client.invalidateQueries({ queryKey: environmentVersionsQuery(env.id).key });
    };
    const resync = () =>
      void client.fetchQuery(query).then((fresh) => {
        setMore("");
        setStart(fresh);
      });
    return live.follow({ topic: `build:${id}`, after: log_seq, events: heard, resync });
  }, [client, env.id, following, start]);
  return `${start.log ?? ""}${more}`.slice(-SHOWN);
}
