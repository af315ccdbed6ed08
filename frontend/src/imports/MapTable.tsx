/** What each column of the file becomes: one row a column, or more where a column is used more than once. Virtual, as files with thousands of
 * columns come. Every field is a native control, so the keyboard does all of it. */
import { count } from "../ui/formats";
import { Icon } from "../ui/Icon";
import type { Column } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";
import type { Plan, Target, Use } from "./mapping";
import { TARGETS, isGuessed, takesName, unused, usedColumns, withUse } from "./mapping";

interface Props {
  plan: Plan;
  guess: Plan;
  /** The guess is the mapping used last for this taskset. */
  remembered: boolean;
  firstCells: Record<string, string>;
  onChange: (plan: Plan) => void;
}

interface Row extends Use {
  at: number;
}

export function MapTable({ plan, guess, remembered, firstCells, onChange }: Props) {
  const rows = plan.uses.map((use, at): Row => ({ ...use, at }));
  const change = (row: Row, part: Partial<Use>) => onChange(withUse(plan, row.at, part));
  const columns: Column<Row>[] = [
    { name: "Column", width: "22%", className: "on-phone", cell: (row) => <code title={row.column}>{row.column}</code> },
    { name: "First value", width: "24%", cell: (row) => <FirstValue text={firstCells[row.column]} /> },
    { name: "Becomes", width: 190, className: "on-phone wide", cell: (row) => <TargetField row={row} onChange={(part) => change(row, part)} /> },
    { name: "Named", width: 150, className: "on-phone wide", cell: (row) => (takesName(row.target) ? <NameField row={row} onChange={(part) => change(row, part)} /> : null) },
    { name: "Cell is", width: 90, cell: (row) => (takesName(row.target) ? <KindField row={row} onChange={(part) => change(row, part)} /> : null) },
    { name: "By", width: 90, cell: (row) => <By guessed={isGuessed(row, guess)} remembered={remembered} /> },
    {
      name: <span className="sr-only">More</span>,
      width: 56,
      cell: (row) =>
        row.target === "none" ? null : (
          <button
            type="button"
            className="copy"
            aria-label={`Use ${row.column} for one thing more`}
            title="Use for one thing more"
            onClick={() => onChange({ ...plan, uses: plan.uses.toSpliced(row.at + 1, 0, unused(row.column)) })}
          >
            <Icon name="plus" />
          </button>
        ),
    },
  ];
  return (
    <section className="card flow" aria-label="What each column becomes">
      <header>
        <h2>What each column becomes</h2>
        <span className="text-12 text-text-3 tnum">
          {count(usedColumns(plan))} of {count(new Set(rows.map((row) => row.column)).size)} used
        </span>
      </header>
      <VirtualTable label="Columns" rows={rows} columns={columns} keyOf={(row) => `${row.at}`} minWidth={760} rowHeight={38} />
    </section>
  );
}

interface FieldProps {
  row: Row;
  onChange: (part: Partial<Use>) => void;
}

function TargetField({ row, onChange }: FieldProps) {
  return (
    <select className="box" aria-label={`${row.column} becomes`} value={row.target} onChange={(event) => onChange({ target: event.target.value as Target })}>
      {TARGETS.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}

const NameField = ({ row, onChange }: FieldProps) => (
  <input className="box mono" aria-label={`Name for ${row.column}`} value={row.name} onChange={(event) => onChange({ name: event.target.value })} />
);

function KindField({ row, onChange }: FieldProps) {
  return (
    <select className="box" aria-label={`Cells of ${row.column} are`} value={row.kind} onChange={(event) => onChange({ kind: event.target.value === "json" ? "json" : "text" })}>
      <option value="text">text</option>
      <option value="json">JSON</option>
    </select>
  );
}

const FirstValue = ({ text }: { text: string | undefined }) =>
  text ? (
    <span className="mono text-text-2" title={text}>
      {text}
    </span>
  ) : (
    <span className="text-text-3">empty</span>
  );

function By({ guessed, remembered }: { guessed: boolean; remembered: boolean }) {
  if (!guessed) return <span className="tag acc">you</span>;
  return <span className="tag">{remembered ? "last time" : "guess"}</span>;
}
