/** The run as it reads, virtual for thousands of steps. Following keeps the end in view until the person scrolls up; then new steps wait
 * behind a pill. Nothing moves under the reader. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import type { ReactNode } from "react";
import { plural } from "../ui/formats";
import { Icon } from "../ui/Icon";
import type { Entry } from "./steps";
import { StepView } from "./StepView";

interface Props {
  entries: Entry[];
  current: number;
  onPick: (n: number) => void;
  live: boolean;
  follow: boolean;
  setFollow: (follow: boolean) => void;
  /** Counts up when a step is picked elsewhere, so the same one can be picked again. */
  jump: number;
  /** Blocks of steps are still on their way. */
  busy: boolean;
  before?: ReactNode;
  after?: ReactNode;
}

const NEAR_END = 48;

export function Transcript({ entries, current, onPick, live, follow, setFollow, jump, busy, before, after }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const top = useRef(0);
  const [seen, setSeen] = useState(entries.length);
  const virtual = useVirtualizer({ count: entries.length, getScrollElement: () => box.current, estimateSize: () => 150, overscan: 6, getItemKey: (index) => entries[index]?.read.step.span_id ?? index });
  const length = entries.length;

  useEffect(() => {
    if (!follow || !live) return;
    const element = box.current;
    if (element) element.scrollTop = element.scrollHeight;
  });
  if (follow && seen !== length) setSeen(length);

  const index = entries.findIndex((entry) => entry.read.n === current || entry.joined.some((each) => each.result?.n === current));
  useEffect(() => {
    if (jump > 0 && index >= 0) virtual.scrollToIndex(index, { align: "start" });
  }, [jump]); // eslint-disable-line react-hooks/exhaustive-deps -- only a pick scrolls, not every new step

  const onScroll = () => {
    const element = box.current;
    if (!element) return;
    const up = element.scrollTop < top.current - 2;
    const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END;
    top.current = element.scrollTop;
    if (follow && up && !atEnd) setFollow(false);
    else if (!follow && live && atEnd && !up) setFollow(true);
  };
  const waiting = length - seen;
  const items = virtual.getVirtualItems();
  return (
    <section className="relative flex min-h-0 min-w-0 flex-col" aria-label="Transcript">
      <div ref={box} className="scroll min-h-0 grow [overflow-anchor:auto]" tabIndex={0} role="group" aria-label="Steps of the run" onScroll={onScroll}>
        {before}
        <div role={length > 0 ? "feed" : undefined} aria-label={length > 0 ? "Steps" : undefined} aria-busy={busy} style={{ height: virtual.getTotalSize(), position: "relative" }}>
          <div style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}>
            {items.map((item) => (
              <div key={item.key} data-index={item.index} ref={virtual.measureElement}>
                <StepView entry={entries[item.index] as Entry} current={item.index === index} onPick={onPick} />
              </div>
            ))}
          </div>
        </div>
        {after}
      </div>
      {live && !follow && (
        <div className="absolute inset-x-0 bottom-4 flex justify-center">
          <button type="button" className="pill" onClick={() => setFollow(true)}>
            {waiting > 0 ? plural(waiting, "new step") : "Follow"} <Icon name="down" small />
          </button>
        </div>
      )}
    </section>
  );
}
