/** All errors of the whole file: grouped by rule with counts, listed virtually, downloadable; each leads to the editor of its row. */
import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import type { ErrorGroup, ImportOut, RowError } from "../api/types";
import { count, plural } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { useRows } from "../ui/useRows";
import type { Column } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";
import { IN_PLACE } from "../ui/useAddress";
import type { Group } from "./queries";
import { errorsQuery, groupsQuery } from "./queries";

interface Props {
  found: ImportOut;
  /** Null where rows can't be mended: in folders, and once the import has ended. */
  onEdit: ((error: RowError) => void) | null;
}

export function Errors({ found, onEdit }: Props) {
  const [group, choose] = useGroup();
  const check = found.check ?? 0;
  const errors = useRows(errorsQuery(found.id, check, group));
  const groups = useQuery(groupsQuery(found.id, check));
  const total = found.errors_total ?? 0;
  return (
    <section className="card flow" aria-label="Errors in the whole file">
      <header>
        <h2>Errors in the whole file</h2>
        <span className={`tag tnum ${total ? "bad" : "good"}`}>{count(total)}</span>
        <div className="acts">
          {total > 0 && (
            <a className="btn ghost" href={`/api/imports/${found.id}/errors.csv`} download>
              <Icon name="download" /> Download all
            </a>
          )}
        </div>
      </header>
      {groups.data && groups.data.items.length > 0 && <Groups groups={groups.data.items} all={groups.data.total ?? 0} chosen={group} onChoose={choose} />}
      {errors.error ? (
        <Failed what="Could not load the errors" error={errors.error} retry={errors.retry} />
      ) : errors.loading ? (
        <Skeleton />
      ) : (
        <VirtualTable
          label="Errors"
          rows={errors.rows}
          columns={columnsOf(onEdit)}
          keyOf={(error, index) => `${error.line}-${index}`}
          total={group ? sizeOf(groups.data?.items, group) : total}
          more={errors.more}
          loadingMore={errors.loadingMore}
          minWidth={640}
          empty={<Empty title={group ? "This group has no errors any more" : "No errors"} />}
        />
      )}
    </section>
  );
}

function columnsOf(onEdit: Props["onEdit"]): Column<RowError>[] {
  return [
    { name: "Line", width: 90, className: "num on-phone", cell: (error) => <span title={String(error.line)}>{error.line.toLocaleString("en-GB")}</span> },
    { name: "Column", width: 150, className: "on-phone", cell: (error) => (error.column ? <code title={error.column}>{error.column}</code> : <span className="text-text-3">whole row</span>) },
    { name: "Value", width: 200, cell: (error) => (error.value === null ? <span className="text-text-3">–</span> : <code title={error.value}>{error.value === "" ? "empty" : error.value}</code>) },
    { name: "Rule", className: "on-phone wide", cell: (error) => <span title={error.rule}>{error.rule}</span> },
    ...(onEdit
      ? [
          {
            name: <span className="sr-only">Mend</span>,
            width: 110,
            className: "on-phone",
            cell: (error: RowError) => (
              <button type="button" className="btn small" aria-label={`Edit row on line ${error.line}`} onClick={() => onEdit(error)}>
                Edit row
              </button>
            ),
          },
        ]
      : []),
  ];
}

const isOf = (one: ErrorGroup, group: Group | null) => group !== null && one.rule === group.rule && one.column === group.column;
const sizeOf = (groups: ErrorGroup[] | undefined, group: Group) => groups?.find((one) => isOf(one, group))?.count ?? null;

interface GroupsProps {
  groups: ErrorGroup[];
  all: number;
  chosen: Group | null;
  onChoose: (group: Group | null) => void;
}

function Groups({ groups, all, chosen, onChoose }: GroupsProps) {
  return (
    <div className="error-groups" role="group" aria-label="Errors by rule">
      {groups.map((one) => (
        <button key={`${one.column ?? ""}\n${one.rule}`} type="button" className="chip" aria-pressed={isOf(one, chosen)} title={`first on line ${one.first_line}`} onClick={() => onChoose(isOf(one, chosen) ? null : one)}>
          {one.column && <code>{one.column}</code>} {one.rule} <b>{count(one.count)}</b>
        </button>
      ))}
      {all > groups.length && <span className="text-12 text-text-3">and {plural(all - groups.length, "smaller group")}</span>}
    </div>
  );
}

/** The chosen group, in the address. */
function useGroup() {
  const [params, setParams] = useSearchParams();
  const rule = params.get("rule");
  const group: Group | null = rule === null ? null : { rule, column: params.get("column") };
  const choose = (next: Group | null) => {
    const query = new URLSearchParams(params);
    query.delete("rule");
    query.delete("column");
    if (next) query.set("rule", next.rule);
    if (next?.column) query.set("column", next.column);
    setParams(query, IN_PLACE);
  };
  return [group, choose] as const;
}
