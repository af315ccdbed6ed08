/** One column of many tasks set to one value, or taken away; into the draft. */
import { useId, useState } from "react";
import { plural } from "../../ui/formats";
import { Failed } from "../../ui/Notices";
import { Dialog } from "../../ui/Overlays";
import { Segments } from "../../ui/Segments";
import type { Kind } from "./bulk";
import { columnsText } from "./bulk";

const KINDS = [
  ["text", "Text"],
  ["json", "Number or JSON"],
  ["none", "Take it away"],
] as const;

interface Props {
  count: number;
  names: readonly string[];
  busy: boolean;
  error: Error | null;
  onSet: (columns: string) => void;
  onClose: () => void;
}

export function SetColumnDialog({ count, names, busy, error, onSet, onClose }: Props) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState<Kind>("text");
  const [value, setValue] = useState("");
  const list = useId();
  const text = columnsText(name, kind, value);
  return (
    <Dialog open onClose={onClose} title={`Set a column of ${plural(count, "task")}`} about="Goes into your draft; nothing changes for others until you commit it.">
      <form
        className="grid gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (name && text !== null) onSet(text);
        }}
      >
        <label className="grid gap-1 font-medium">
          Column
          <input className="box" autoFocus required maxLength={200} list={list} value={name} onChange={(event) => setName(event.target.value)} />
          <datalist id={list}>
            {names.slice(0, 500).map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
        </label>
        <Segments label="Kind of value" options={KINDS} value={kind} onChange={setKind} />
        {kind !== "none" && (
          <label className="grid gap-1 font-medium">
            Value
            <input className={`box ${kind === "json" ? "mono" : ""}`} value={value} aria-invalid={text === null || undefined} onChange={(event) => setValue(event.target.value)} />
            {text === null && value !== "" && <span className="text-12 font-normal text-bad">Not JSON; digits are kept as typed.</span>}
          </label>
        )}
        {error && <Failed what="Could not change the draft" error={error} />}
        <div className="flex justify-end gap-2">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn pri" disabled={busy || !name || text === null}>
            Set in {plural(count, "task")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
