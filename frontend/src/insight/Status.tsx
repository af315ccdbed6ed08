/** Where the analysis stands: not begun, waiting, running with its progress, done or failed; and the button that begins it. */
import type { AnalysisOut } from "../api/types";
import { ProgressBar } from "../imports/ProgressBar";
import { count } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { State } from "../ui/State";
import { Time } from "../ui/Time";

interface Props {
  analysis: AnalysisOut;
  begin: { mutate: () => void; isPending: boolean };
  onSettings: () => void;
}

/** Done with other manifests than there are now: asking again makes it anew. */
export const isOutdated = (analysis: AnalysisOut) => analysis.environments.some((one) => one.newest_number !== one.version_number);

export function Status({ analysis, begin, onSettings }: Props) {
  const { status } = analysis;
  const may = status === "none" || status === "failed" || (status === "done" && isOutdated(analysis));
  return (
    <div className="flex flex-wrap items-center gap-3 px-6 py-2 max-md:px-4">
      <div className="flex min-h-8 items-center gap-3" role="status">
        <Words analysis={analysis} />
      </div>
      {status === "running" && (
        <div className="w-52">
          <ProgressBar label="Analysis" value={analysis.progress} max={1} />
        </div>
      )}
      <span className="grow" />
      {may && (
        <button type="button" className="btn" disabled={begin.isPending} onClick={() => begin.mutate()}>
          <Icon name="again" /> {status === "done" ? "Check again" : `Analyse v${analysis.version_number ?? ""}`}
        </button>
      )}
      <button type="button" className="btn" onClick={onSettings}>
        <Icon name="pencil" /> What is looked at…
      </button>
    </div>
  );
}

function Words({ analysis }: { analysis: AnalysisOut }) {
  const version = `v${analysis.version_number ?? ""}`;
  if (analysis.status === "queued") return <State kind="pen">{version} waits for a worker</State>;
  if (analysis.status === "running") return <State kind="run">Analysing {version}</State>;
  if (analysis.status === "failed") return <State kind="bad">{analysis.error}</State>;
  if (analysis.status === "none") return <State kind="pen">{version} is not analysed yet; a head is, ten seconds after its last change</State>;
  return (
    <>
      <State kind="ok">{version} analysed</State>
      <span className="text-12 text-text-2">
        {count(analysis.counts.tasks)} tasks, {analysis.ended_at && <Time at={analysis.ended_at} />}
      </span>
      {isOutdated(analysis) && <State kind="warn">an environment has a newer version</State>}
    </>
  );
}
