/** The rest of a mapping: texts that all rows get, and how the file is to be read. */
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import type { EnvironmentOut, FileOptions, ImportOut, Page } from "../api/types";
import type { Plan } from "./mapping";

interface Props {
  plan: Plan;
  onChange: (plan: Plan) => void;
}

export function Constants({ plan, onChange }: Props) {
  const environments = useQuery({ queryKey: ["environments", "names"], queryFn: () => api<Page<EnvironmentOut>>("/api/environments", { query: { limit: 200 } }) });
  const set = (part: Partial<Plan["constants"]>) => onChange({ ...plan, constants: { ...plan.constants, ...part } });
  const from = (target: "env" | "task_id" | "slug") => plan.uses.find((use) => use.target === target)?.column;
  return (
    <section className="card" aria-label="For all rows">
      <header>
        <h2>For all rows</h2>
      </header>
      <div className="grid gap-3 p-3.5">
        <Constant label="Environment" from={from("env")} value={plan.constants.env} list="environment-names" placeholder="name of an environment" onChange={(env) => set({ env })} />
        <datalist id="environment-names">
          {environments.data?.items.map((one) => <option key={one.id} value={one.name} />)}
        </datalist>
        <Constant label="Template id" from={from("task_id")} value={plan.constants.task_id} placeholder="run" onChange={(taskId) => set({ task_id: taskId })} />
        <Constant
          label="Slug"
          from={from("slug")}
          value={plan.constants.slug ?? ""}
          placeholder="made from the id and the arguments"
          hint="{n} is the row's number"
          onChange={(slug) => set({ slug: slug || null })}
        />
      </div>
    </section>
  );
}

interface ConstantProps {
  label: string;
  from: string | undefined;
  value: string;
  placeholder: string;
  list?: string;
  hint?: string;
  onChange: (value: string) => void;
}

function Constant({ label, from, value, placeholder, list, hint, onChange }: ConstantProps) {
  return (
    <label className="grid gap-1 font-medium">
      {label}
      <input className="box mono" value={from === undefined ? value : ""} disabled={from !== undefined} placeholder={from === undefined ? placeholder : `from the column ${from}`} list={list} onChange={(event) => onChange(event.target.value)} />
      {hint && from === undefined && <span className="text-12 font-normal text-text-3">{hint}</span>}
    </label>
  );
}

const DELIMITERS = [
  ["", "found out"],
  [",", "comma"],
  [";", "semicolon"],
  ["\t", "tab"],
  ["|", "bar"],
] as const;

const ENCODINGS = [
  ["", "UTF-8, or by its mark"],
  ["utf-16", "UTF-16"],
  ["latin-1", "Latin-1"],
  ["cp1252", "Windows-1252"],
] as const;

/** Only files of delimited text have any. */
export function Reading({ found, options, onChange }: { found: ImportOut; options: FileOptions; onChange: (options: FileOptions) => void }) {
  if (found.format !== "csv" && found.format !== "tsv") return null;
  return (
    <section className="card" aria-label="How the file is read">
      <header>
        <h2>How the file is read</h2>
      </header>
      <div className="grid gap-3 p-3.5">
        <Choice label="Delimiter" options={DELIMITERS} value={options.delimiter ?? ""} onChange={(delimiter) => onChange({ ...options, delimiter: delimiter || null })} />
        <Choice label="Encoding" options={ENCODINGS} value={options.encoding ?? ""} onChange={(encoding) => onChange({ ...options, encoding: (encoding || null) as FileOptions["encoding"] })} />
        <label className="flex items-center gap-2">
          <input type="checkbox" checked={options.keep_empty} onChange={(event) => onChange({ ...options, keep_empty: event.target.checked })} />
          Empty cells are empty texts, not absent
        </label>
      </div>
    </section>
  );
}

interface ChoiceProps {
  label: string;
  options: readonly (readonly [string, string])[];
  value: string;
  onChange: (value: string) => void;
}

function Choice({ label, options, value, onChange }: ChoiceProps) {
  return (
    <label className="grid gap-1 font-medium">
      {label}
      <select className="box" value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
