/** What a verb would do with the good rows, counted. */
import type { ReactNode } from "react";
import type { PlanCounts } from "../api/types";

interface Props {
  plan: PlanCounts;
  errors: number;
}

export function PlanView({ plan, errors }: Props) {
  return (
    <dl className="plan tnum">
      <Line mark="+" kind="added" name="Create" value={plan.create} />
      <Line mark="~" kind="changed" name="Update" value={plan.update} />
      <Line mark="=" kind="same" name="Unchanged" value={plan.unchanged} />
      <Line mark="−" kind="removed" name="Remove" value={plan.remove} />
      {errors > 0 && <Line mark="!" kind="wrong" name="Bad rows left out" value={errors} />}
    </dl>
  );
}

function Line({ mark, kind, name, value }: { mark: ReactNode; kind: string; name: string; value: number }) {
  return (
    <>
      <dt>
        <span className={`mark ${kind}`} aria-hidden="true">
          {mark}
        </span>
        {name}
      </dt>
      <dd>{value.toLocaleString("en-GB")}</dd>
    </>
  );
}
