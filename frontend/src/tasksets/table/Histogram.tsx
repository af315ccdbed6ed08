/** Numbers of a column as bars, and the two ends of a range as sliders; typed ends are exact. */
import { useState } from "react";
import type { FacetOut } from "../../api/types";
import type { Filter } from "./question";

interface Props {
  title: string;
  bins: FacetOut["bins"];
  filter: Filter;
  onChange: (filter: Filter) => void;
}

export function Histogram({ title, bins, filter, onChange }: Props) {
  const [moving, setMoving] = useState<{ least: number | null; most: number | null } | null>(null);
  const first = bins[0];
  const last = bins.at(-1);
  if (!first || !last) return null;
  const range = moving ?? filter;
  const least = range.least ?? first.least;
  const most = range.most ?? last.most;
  const highest = Math.max(1, ...bins.map((bin) => bin.count));
  const step = (last.most - first.least) / 100 || 1;
  const drop = () => {
    if (moving) onChange({ ...filter, ...moving });
    setMoving(null);
  };
  const set = (side: "least" | "most", value: number) => {
    const next = side === "least" ? Math.min(value, most) : Math.max(value, least);
    const isEnd = side === "least" ? next <= first.least : next >= last.most;
    setMoving({ least: range.least, most: range.most, [side]: isEnd ? null : rounded(next) });
  };
  return (
    <div className="hist">
      <svg viewBox={`0 0 ${bins.length * 10} 40`} preserveAspectRatio="none" role="img" aria-label={`${title} from ${rounded(first.least)} to ${rounded(last.most)}`}>
        {bins.map((bin, index) => (
          <rect key={bin.least} x={index * 10 + 0.5} width={9} y={40 - (38 * bin.count) / highest} height={(38 * bin.count) / highest + (bin.count ? 2 : 0)} className={bin.most >= least && bin.least <= most ? "in" : ""} />
        ))}
      </svg>
      <div className="ends">
        {(["least", "most"] as const).map((side) => (
          <input
            key={side}
            type="range"
            aria-label={`${title}, ${side === "least" ? "from" : "up to"}`}
            min={first.least}
            max={last.most}
            step={step}
            value={side === "least" ? least : most}
            onChange={(event) => set(side, Number(event.target.value))}
            onPointerUp={drop}
            onKeyUp={drop}
            onBlur={drop}
          />
        ))}
      </div>
      <p className="flex justify-between text-11 text-text-2 tnum">
        <span>{rounded(least)}</span>
        <span>{rounded(most)}</span>
      </p>
    </div>
  );
}

/** Four digits are enough for an end of a range. */
const rounded = (value: number) => Number(value.toPrecision(4));
