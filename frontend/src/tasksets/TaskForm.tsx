/** The form side of the editor: slug, environment, template, then a field for each argument and column. It edits the text by its spans. */
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import type { FormEvent } from "react";
import { ApiError } from "../api/client";
import { environmentQuery, environmentsQuery } from "../api/queries";
import type { Problem } from "../api/types";
import { Icon } from "../ui/Icon";
import { isJson, valueAt, withoutMember, withValue } from "../ui/jsonSpans";
import { useRows } from "../ui/useRows";
import type { FormField, Schema } from "./form";
import { fieldsOf, shownValue, typedValue } from "./form";

interface Props {
  name: string;
  onName: (name: string) => void;
  text: string;
  onText: (text: string) => void;
  /** Of the server's last refusal; shown at their fields. */
  problems: Problem[];
}

export function TaskForm({ name, onName, text, onText, problems }: Props) {
  const env = wordAt(text, "env");
  const id = wordAt(text, "id");
  const templates = useTemplates(env);
  const environments = useRows(environmentsQuery()).rows.map((one) => one.name);
  const schema = (templates.find((one) => one.id === id)?.args ?? null) as Schema | null;
  const fine = isJson(text);
  return (
    <section className="scroll min-h-0 min-w-0 p-4" aria-label="Form">
      {!fine && <p className="banner warn mb-3 rounded-2">The raw text is no JSON; mend it to use the form.</p>}
      <fieldset disabled={!fine} className="grid gap-5">
        <div className="grid gap-3 md:grid-cols-3">
          <Word label="Slug" value={name} onChange={onName} problem={problemAt(problems, "slug")} />
          <Word label="Environment" value={env} options={environments} onChange={(value) => onText(withValue(text, ["env"], JSON.stringify(value)))} problem={problemAt(problems, "env")} />
          <Word label="Template" value={id} options={templates.map((one) => one.id)} onChange={(value) => onText(withValue(text, ["id"], JSON.stringify(value)))} problem={problemAt(problems, "task_id")} />
        </div>
        <Part title="Arguments" part="args" what="argument" schema={schema} text={text} onText={onText} problems={problems} />
        <Part title="Columns" part="columns" what="column" schema={null} text={text} onText={onText} problems={problems} />
      </fieldset>
    </section>
  );
}

const wordAt = (text: string, key: string): string => {
  const value = valueAt(text, [key]);
  return value?.startsWith('"') ? (JSON.parse(value) as string) : "";
};

/** What the environment's newest ready version offers; none for an environment that is not registered. */
function useTemplates(env: string) {
  const found = useQuery({ ...environmentQuery(env), enabled: env !== "", retry: (failures, error) => !(error instanceof ApiError) && failures < 1, staleTime: 60_000 });
  return found.data?.ready?.templates ?? [];
}

const problemAt = (problems: Problem[], path: string) => problems.find((one) => one.path === `changes[0].text.${path}` || one.path === `changes[0].${path}`)?.rule;

interface WordProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  options?: string[];
  problem: string | undefined;
}

function Word({ label, value, onChange, options = [], problem }: WordProps) {
  const id = useId();
  return (
    <label className="grid content-start gap-1 font-medium">
      {label}
      <input className="box" value={value} list={options.length ? id : undefined} aria-invalid={problem !== undefined} onChange={(event) => onChange(event.target.value)} maxLength={255} autoComplete="off" />
      {options.length > 0 && <datalist id={id}>{options.map((one) => <option key={one} value={one} />)}</datalist>}
      {problem && <span className="text-12 font-normal text-bad">{problem}</span>}
    </label>
  );
}

interface PartProps {
  title: string;
  part: "args" | "columns";
  what: string;
  schema: Schema | null;
  text: string;
  onText: (text: string) => void;
  problems: Problem[];
}

function Part({ title, part, what, schema, text, onText, problems }: PartProps) {
  const fields = fieldsOf(text, part, schema);
  return (
    <section className="grid gap-3" aria-label={title}>
      <h2>{title}</h2>
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          what={what}
          problem={problemAt(problems, field.path.join("."))}
          onValue={(value) => onText(withValue(text, field.path, value))}
          onTakeOut={() => onText(withoutMember(text, field.path))}
        />
      ))}
      <AddField what={what} taken={fields.map((field) => field.name)} onAdd={(name) => onText(withValue(text, [part, name], '""'))} />
    </section>
  );
}

interface FieldProps {
  field: FormField;
  what: string;
  problem: string | undefined;
  onValue: (value: string) => void;
  onTakeOut: () => void;
}

function Field({ field, what, problem, onValue, onTakeOut }: FieldProps) {
  const id = useId();
  const [typed, type] = useState<string | null>(null);
  const shown = typed ?? shownValue(field);
  const wrong = typed !== null && typedValue(field.kind, typed) === null ? (field.kind === "number" ? "not a number" : "not JSON") : problem;
  const change = (value: string) => {
    const made = typedValue(field.kind, value);
    type(made === null || (field.kind !== "text" && made !== value) ? value : null);
    if (made !== null) onValue(made);
  };
  const common = { id, className: "box", "aria-invalid": wrong !== undefined, "aria-describedby": `${id}-about`, value: shown, onBlur: () => wrong === undefined && type(null) };
  return (
    <div className="grid gap-1">
      <div className="flex items-center gap-2">
        <label htmlFor={id} className="mono font-medium">
          {field.name}
        </label>
        {field.required && <span className="text-12 text-text-3">required</span>}
        {field.value === null && <span className="text-12 text-text-3">not set</span>}
        <span className="grow" />
        {field.value !== null && (
          <button type="button" className="copy" aria-label={`Take out ${what} ${field.name}`} title="Take out" onClick={onTakeOut}>
            <Icon name="close" small />
          </button>
        )}
      </div>
      {field.kind === "choice" ? (
        <select {...common} onChange={(event) => change(event.target.value)}>
          {field.value === null && <option value="">not set</option>}
          {field.choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      ) : field.kind === "number" ? (
        <input {...common} inputMode="decimal" onChange={(event) => change(event.target.value)} />
      ) : (
        <textarea {...common} rows={rowsFor(shown)} spellCheck={field.kind === "text"} onChange={(event) => change(event.target.value)} />
      )}
      <span id={`${id}-about`} className={`text-12 ${wrong ? "text-bad" : "text-text-2"}`}>
        {wrong ?? field.about}
      </span>
    </div>
  );
}

const rowsFor = (text: string) => Math.min(12, Math.max(1, text.split("\n").length, Math.ceil(text.length / 70)));

function AddField({ what, taken, onAdd }: { what: string; taken: string[]; onAdd: (name: string) => void }) {
  const [name, setName] = useState("");
  const add = (event: FormEvent) => {
    event.preventDefault();
    if (name === "" || taken.includes(name)) return;
    onAdd(name);
    setName("");
  };
  return (
    <form className="flex items-center gap-2" onSubmit={add}>
      <input className="box max-w-48" aria-label={`Name of a new ${what}`} placeholder={`new ${what}`} value={name} onChange={(event) => setName(event.target.value)} autoComplete="off" />
      <button type="submit" className="btn" disabled={name === "" || taken.includes(name)}>
        <Icon name="plus" /> Add {what}
      </button>
    </form>
  );
}
