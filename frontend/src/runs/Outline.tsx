/** One line a step; filter by kind of interest, search in titles; picking one moves everything to it. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import { count, duration } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { Search } from "../ui/Search";
import type { Read } from "./steps";
import { KIND_ICON, KIND_WORD } from "./StepView";

const SHOW = {
  All: () => true,
  Errors: (read: Read) => read.isError,
  Tools: (read: Read) => read.kind === "tool",
} as const;
type Show = keyof typeof SHOW;

export function Outline({ reads, current, onPick }: { reads: Read[]; current: number; onPick: (n: number) => void }) {
  const [show, setShow] = useState<Show>("All");
  const [q, setQ] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const shown = useMemo(() => {
    const text = q.toLowerCase();
    return reads.filter((read) => SHOW[show](read) && (!text || haystack(read).includes(text)));
  }, [reads, show, q]);
  const virtual = useVirtualizer({ count: shown.length, getScrollElement: () => box.current, estimateSize: () => 28, overscan: 10 });
  const at = shown.findIndex((read) => read.n === current);
  useEffect(() => {
    if (at >= 0) virtual.scrollToIndex(at, { align: "auto" });
  }, [at, virtual]);
  return (
    <section className="flex min-h-0 flex-col border-r border-line max-[900px]:hidden" aria-label="Outline">
      <div className="border-b border-line px-3 py-2.5">
        <Search label="Search in this run" value={q} onChange={setQ} width="100%" />
        <div className="mt-2 flex gap-1" role="group" aria-label="Show">
          {(Object.keys(SHOW) as Show[]).map((name) => (
            <button key={name} type="button" className="chip" aria-pressed={show === name} onClick={() => setShow(name)}>
              {name} <b>{count(reads.filter(SHOW[name]).length)}</b>
            </button>
          ))}
        </div>
      </div>
      <div ref={box} className="scroll min-h-0 grow py-1" tabIndex={0} role="group" aria-label="Steps">
        <div className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const read = shown[item.index] as Read;
            return (
              <button
                key={read.n}
                type="button"
                className="outline-row absolute left-0"
                style={{ top: item.start }}
                aria-current={read.n === current ? "step" : undefined}
                tabIndex={read.n === current || (at < 0 && item.index === 0) ? 0 : -1}
                onClick={() => onPick(read.n)}
              >
                <span className="text-right text-11 text-text-3 tnum">{read.n}</span>
                <span className="flex min-w-0 items-center gap-1.5">
                  <span className={`k-${read.kind} grid`}>
                    <Icon name={KIND_ICON[read.kind]} small />
                  </span>
                  <span className="sr-only">{KIND_WORD[read.kind]}: </span>
                  <span className={`truncate ${read.kind === "tool" ? "mono" : ""}`}>{read.title.slice(0, 160)}</span>
                </span>
                {read.isError ? <span className="tag bad">error</span> : <span />}
                <span className="text-right text-11 text-text-3 tnum">{read.seconds === null ? "" : duration(read.seconds)}</span>
              </button>
            );
          })}
        </div>
        {shown.length === 0 && <p className="px-4 py-3 text-12 text-text-3">{reads.length ? "No step matches." : "No step yet."}</p>}
      </div>
    </section>
  );
}

function haystack(read: Read): string {
  const blocks = read.blocks.map((block) => (block.type === "image" ? "" : block.text)).join(" ");
  return `${read.title} ${read.text ?? ""} ${read.reasoning ?? ""} ${blocks} ${read.error ?? ""}`.toLowerCase();
}
