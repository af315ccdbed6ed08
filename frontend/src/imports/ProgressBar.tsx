/** How much of something is done. */

export function ProgressBar({ label, value, max }: { label: string; value: number; max: number }) {
  const share = max > 0 ? Math.min(1, value / max) : 1;
  const percent = Math.floor(share * 100);
  return (
    <div className="flex items-center gap-3">
      <div className="bar grow" style={{ height: 6, borderRadius: 3 }} role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={percent}>
        <i className="graded" style={{ width: `${share * 100}%` }} />
      </div>
      <span className="tnum text-12">{percent} %</span>
    </div>
  );
}
