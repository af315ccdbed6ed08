/** Which columns are shown and in which order; the same by pointer and key. */
import { useState } from "react";
import { Icon } from "../../ui/Icon";
import { Popover } from "../../ui/Overlays";
import { moved } from "./layout";

interface Props {
  known: readonly { id: string; name: string }[];
  shown: readonly string[];
  onChange: (shown: string[]) => void;
  onReset: () => void;
}

const SEARCHED_FROM = 12;
const LISTED = 200;

export function ColumnChooser({ known, shown, onChange, onReset }: Props) {
  const [q, setQ] = useState("");
  const names = new Map(known.map((column) => [column.id, column.name]));
  const hidden = known.filter((column) => !shown.includes(column.id));
  const holds = (name: string) => name.toLowerCase().includes(q.toLowerCase());
  return (
    <Popover
      label="Columns"
      button={
        <button type="button" className="btn ghost">
          <Icon name="columns" /> Columns
        </button>
      }
    >
      <div className="grid max-h-[60dvh] w-[300px] max-w-full gap-1 overflow-auto p-1">
        {known.length > SEARCHED_FROM && <input className="box" type="search" aria-label="Search columns" placeholder="Search columns" value={q} onChange={(event) => setQ(event.target.value)} />}
        <ul aria-label="Shown columns, in order">
          {shown.filter((id) => holds(names.get(id) ?? id)).map((id) => (
            <li key={id} className="flex min-h-[28px] items-center gap-2">
              <Box name={names.get(id) ?? id} checked onToggle={() => onChange(shown.filter((one) => one !== id))} />
              {([-1, 1] as const).map((by) => (
                <button key={by} type="button" className="copy" aria-label={`Move ${names.get(id) ?? id} ${by < 0 ? "to the front" : "to the back"}`} disabled={moved(shown, id, by).join("\0") === shown.join("\0")} onClick={() => onChange(moved(shown, id, by))}>
                  <Icon name={by < 0 ? "up" : "down"} small />
                </button>
              ))}
            </li>
          ))}
        </ul>
        {hidden.length > 0 && <hr />}
        <ul aria-label="Hidden columns">
          {hidden.filter((column) => holds(column.name)).slice(0, LISTED).map((column) => (
            <li key={column.id} className="flex min-h-[28px] items-center">
              <Box name={column.name} checked={false} onToggle={() => onChange([...shown, column.id])} />
            </li>
          ))}
        </ul>
        <hr />
        <button type="button" className="btn ghost" onClick={onReset}>
          As it was at first
        </button>
      </div>
    </Popover>
  );
}

const Box = ({ name, checked, onToggle }: { name: string; checked: boolean; onToggle: () => void }) => (
  <label className="flex min-w-0 grow items-center gap-2">
    <input type="checkbox" checked={checked} onChange={onToggle} />
    <span className="truncate">{name}</span>
  </label>
);
