/** One row of the file to be mended: its cells as text, the faulty ones first. Only what was changed is sent, and the file is checked again. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { FormEvent } from "react";
import { api } from "../api/client";
import type { ImportOut, RowOut } from "../api/types";
import { plural } from "../ui/formats";
import { PART, shownKeys, useKeys } from "../ui/keys";
import { Failed, Skeleton } from "../ui/Notices";
import { Dialog } from "../ui/Overlays";
import { importQuery, rowQuery } from "./queries";

const SHOWN = 40;
/** Stands for a row's whole JSON, where it is broken. */
const WHOLE = "";

interface Props {
  found: ImportOut;
  line: number;
  onClose: () => void;
}

export function RowEditor({ found, line, onClose }: Props) {
  const row = useQuery(rowQuery(found.id, line));
  return (
    <Dialog open onClose={onClose} title={`Line ${line.toLocaleString("en-GB")} of ${found.filename}`} about="The change is kept beside the file; the file itself stays as it is." wide>
      {row.error ? <Failed what="Could not read the row" error={row.error} retry={() => void row.refetch()} /> : row.data ? <Form found={found} row={row.data} onClose={onClose} /> : <Skeleton rows={4} />}
    </Dialog>
  );
}

function Form({ found, row, onClose }: { found: ImportOut; row: RowOut; onClose: () => void }) {
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [all, showAll] = useState(false);
  const client = useQueryClient();
  const save = useMutation({
    mutationFn: () => api<ImportOut>(`/api/imports/${found.id}/rows/${row.line}`, { method: "PUT", body: { values: texts }, repeatable: true }),
    onSuccess: (checking) => {
      client.setQueryData(importQuery(found.id).queryKey, checking);
      onClose();
    },
  });
  const columns = columnsOf(found, row);
  const shown = all ? columns : columns.slice(0, SHOWN);
  const changed = Object.keys(texts).length;
  const submit = (event: FormEvent | KeyboardEvent) => {
    event.preventDefault();
    if (changed) save.mutate();
  };
  useKeys("Row", [{ keys: "mod+Enter", what: "Save the row", run: submit, typing: true }], PART);
  return (
    <form className="grid gap-3" onSubmit={submit}>
      <ul className="grid gap-1">
        {row.errors.map((error, index) => (
          <li key={index} className="text-bad">
            {error.column && <code>{error.column}</code>} {error.rule}
          </li>
        ))}
      </ul>
      <div className="grid max-h-[50dvh] gap-2 overflow-auto p-1">
        {shown.map((column, index) => (
          <Cell key={column} row={row} column={column} text={texts[column]} first={index === 0} onChange={(text) => setTexts({ ...texts, [column]: text })} />
        ))}
      </div>
      {columns.length > shown.length && (
        <button type="button" className="btn" onClick={() => showAll(true)}>
          Show {plural(columns.length - shown.length, "more cell")}
        </button>
      )}
      {save.error && <Failed what="Could not change the row" error={save.error} />}
      <div className="flex justify-end gap-2">
        <button type="button" className="btn" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" className="btn pri" disabled={!changed || save.isPending}>
          Save and check again <kbd aria-hidden="true">{shownKeys("mod+Enter")}</kbd>
        </button>
      </div>
    </form>
  );
}

/** Faulty ones first, then as the file has them. A row that has no cells is edited as a whole. */
function columnsOf(found: ImportOut, row: RowOut): string[] {
  if (WHOLE in row.cells || (Object.keys(row.cells).length === 0 && found.format.startsWith("json"))) return [WHOLE];
  const faulty = row.errors.flatMap((error) => (error.column !== null && found.columns.includes(error.column) ? [error.column] : []));
  return [...new Set([...faulty, ...found.columns])];
}

interface CellProps {
  row: RowOut;
  column: string;
  text: string | undefined;
  first: boolean;
  onChange: (text: string) => void;
}

function Cell({ row, column, text, first, onChange }: CellProps) {
  const given = row.cells[column] ?? "";
  const faults = row.errors.filter((error) => error.column === column);
  if (row.cut.includes(column)) return <p className="text-text-2">{column} is too long to be edited here; mend it in the file.</p>;
  const shown = text ?? given;
  const rows = Math.min(8, Math.max(1, shown.split("\n").length, Math.ceil(shown.length / 90)));
  return (
    <label className="grid gap-1 font-medium">
      {column === WHOLE ? "The row’s JSON" : column}
      <textarea className="box" rows={rows} value={shown} autoFocus={first} aria-invalid={faults.length > 0 || undefined} spellCheck={false} onChange={(event) => onChange(event.target.value)} />
    </label>
  );
}
