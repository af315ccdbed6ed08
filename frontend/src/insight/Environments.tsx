/** Which manifest each environment's tasks were held against; the unknown ones are marked, with what to do. */
import { Link } from "react-router";
import type { AnalysisOut, CheckedEnvironment } from "../api/types";
import { plural } from "../ui/formats";
import { Icon } from "../ui/Icon";

export function Environments({ analysis }: { analysis: AnalysisOut }) {
  if (analysis.environments.length === 0) return null;
  return (
    <ul className="flex flex-wrap items-center gap-x-4 gap-y-1 px-6 pb-2 text-12 max-md:px-4" aria-label="Environments">
      {analysis.environments.map((one) => (
        <li key={one.name} className="flex flex-wrap items-center gap-2">
          <Link className="plain inline-flex items-center gap-1" to={one.version_number === null ? "/environments" : `/environments/${encodeURIComponent(one.name)}`}>
            <Icon name="environment" small /> {one.name}
          </Link>
          <span className="text-text-2 tnum">{plural(one.tasks, "task")}</span>
          <Against one={one} />
        </li>
      ))}
    </ul>
  );
}

function Against({ one }: { one: CheckedEnvironment }) {
  const unusable = Object.entries(one.unusable ?? {});
  return (
    <>
      {one.version_number === null ? <span className="tag warn">unknown, not checked</span> : <span className="tag">checked against version {one.version_number}</span>}
      {one.newest_number !== one.version_number && one.newest_number !== null && <span className="tag warn">version {one.newest_number} is ready</span>}
      {unusable.map(([template, why]) => (
        <span key={template} className="text-warn">
          Schema of <code>{template}</code> can't be used: {why}
        </span>
      ))}
    </>
  );
}
