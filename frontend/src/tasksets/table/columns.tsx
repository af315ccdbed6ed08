/** The columns that a table of tasks can show, and how each draws its cell. */
import { Link } from "react-router";
import type { FacetsOut, TaskRow, TasksetOut } from "../../api/types";
import { ABSENT } from "../../ui/formats";
import type { GridColumn } from "../../ui/GridTable";
import { taskPath } from "../paths";
import { cellIn, columnNames, promptIn, shortColumns } from "./cells";
import { titleOf } from "./Facets";
import type { Layout } from "./layout";
import type { Mark } from "./marks";
import { shortName } from "./question";

export const SLUG = "slug";
const PROMPT = "prompt";
const PREFIX = "columns.";
const WIDTHS: Record<string, number> = { [SLUG]: 190, [PROMPT]: 240, task_id: 120, env: 130 };

export interface KnownColumn {
  id: string;
  name: string;
}

/** All there are: the task's own fields, then `columns.*` as the version has them (until that is known, as these rows do). */
export function knownColumns(facets: FacetsOut | undefined, rows: readonly TaskRow[]): KnownColumn[] {
  const names = facets ? [...facets.facets.map((facet) => facet.column), ...facets.more].filter((column) => column.startsWith(PREFIX)) : [...new Set(rows.flatMap(columnNames))].map((name) => PREFIX + name);
  return [{ id: PROMPT, name: "Arguments" }, ...names.map((id) => ({ id, name: shortName(id) })), { id: "task_id", name: titleOf("task_id") }, { id: "env", name: titleOf("env") }];
}

/** What is shown while nobody has chosen. */
export function firstColumns(set: TasksetOut, rows: readonly TaskRow[]): string[] {
  return [PROMPT, ...shortColumns(rows).map((name) => PREFIX + name), "task_id", ...(set.environments.length > 1 ? ["env"] : [])];
}

interface Given {
  set: TasksetOut;
  /** Pins the links. */
  version: number | undefined;
  shown: readonly string[];
  known: readonly KnownColumn[];
  rows: readonly TaskRow[];
  facets: FacetsOut | undefined;
  layout: Layout;
  marks: ReadonlyMap<string, Mark>;
}

export function gridColumns({ set, version, shown, known, rows, facets, layout, marks }: Given): GridColumn<TaskRow>[] {
  const width = (id: string, otherwise = 110) => layout.widths?.[id] ?? WIDTHS[id] ?? otherwise;
  const numbers = new Set(facets ? facets.facets.filter((facet) => facet.kind === "numbers").map((facet) => facet.column) : rows.slice(0, 1).flatMap((row) => columnNames(row).filter((name) => cellIn(row, name)?.isNumber).map((name) => PREFIX + name)));
  const there = new Set(known.map((column) => column.id));
  const grows = shown.includes(PROMPT) && layout.widths?.[PROMPT] === undefined ? PROMPT : null;
  return [
    {
      id: SLUG,
      name: "Slug",
      width: width(SLUG),
      className: "on-phone",
      sortable: true,
      fixed: true,
      cell: (row) => (
        <>
          <Link className="stretch mono" to={taskPath(set, row.slug, version)}>
            {row.slug}
          </Link>
          <DraftMark mark={marks.get(row.slug)} />
        </>
      ),
    },
    ...shown.filter((id) => there.has(id)).map((id): GridColumn<TaskRow> => {
      const base = { id, width: width(id), grows: id === grows };
      if (id === PROMPT) return { ...base, name: "Arguments", className: "on-phone wide", cell: (row) => <span className="block truncate text-text-2">{promptIn(row)}</span> };
      if (id === "env" || id === "task_id") return { ...base, name: titleOf(id), sortable: true, cell: (row) => <code className="text-text-2">{row[id]}</code> };
      const name = id.slice(PREFIX.length);
      return { ...base, name: shortName(id), sortable: true, className: numbers.has(id) ? "num" : "", cell: (row) => <span className="text-text-2">{cellIn(row, name)?.text ?? ABSENT}</span> };
    }),
  ];
}

const DraftMark = ({ mark }: { mark: Mark | undefined }) =>
  mark ? (
    <span className={`${mark.className} ml-2`} title={mark.word}>
      {mark.sign}
      <span className="sr-only"> {mark.word}</span>
    </span>
  ) : null;
