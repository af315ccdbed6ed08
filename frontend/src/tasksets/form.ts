/** A form over a task's JSON text: which fields it has, by the environment's JSON Schema and by what is there, and what a typed value
 * is as JSON. The text itself is edited by `ui/jsonSpans`, so a field that nobody touches stays as it stands. Pure. */
import type { Path } from "../ui/jsonSpans";
import { find, isJson, spans } from "../ui/jsonSpans";

export type FieldKind = "text" | "number" | "choice" | "json";

export interface FormField {
  path: Path;
  name: string;
  kind: FieldKind;
  /** The value's JSON text; null while the task has none. */
  value: string | null;
  required: boolean;
  about: string;
  /** JSON texts to choose from. */
  choices: string[];
}

/** The parts of JSON Schema that a form can use; all else is left to the server's check. */
export interface Schema {
  type?: string | string[];
  description?: string;
  title?: string;
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
}

/** The members of one object of the text: those that the schema names, in its order, then those that are only there. */
export function fieldsOf(text: string, part: "args" | "columns", schema: Schema | null): FormField[] {
  const members = isJson(text) ? (find(spans(text), [part])?.members ?? []) : [];
  const names = [...new Set([...Object.keys(schema?.properties ?? {}), ...members.map((one) => one.key)])];
  return names.map((name) => {
    const span = members.findLast((one) => one.key === name)?.value;
    const value = span ? text.slice(span.start, span.end) : null;
    return fieldOf([part, name], name, value, schema?.properties?.[name] ?? null, schema?.required?.includes(name) ?? false);
  });
}

function fieldOf(path: Path, name: string, value: string | null, schema: Schema | null, required: boolean): FormField {
  const choices = choicesOf(schema);
  const fits = value === null || choices.length === 0 || choices.includes(value);
  const kind = choices.length && fits ? "choice" : kindOf(value, schema);
  return { path, name, kind, value, required, about: schema?.description ?? "", choices };
}

/** What is there decides; the schema decides while nothing is. */
function kindOf(value: string | null, schema: Schema | null): FieldKind {
  if (value !== null) return value.startsWith('"') ? "text" : /^[-\d]/.test(value) ? "number" : "json";
  const types = typesOf(schema);
  if (types.includes("string")) return "text";
  return types.includes("number") || types.includes("integer") ? "number" : "json";
}

const typesOf = (schema: Schema | null): string[] => [schema?.type ?? [], ...(schema?.anyOf ?? schema?.oneOf ?? []).map(typesOf)].flat();

function choicesOf(schema: Schema | null): string[] {
  if (!schema) return [];
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one));
  const types = typesOf(schema);
  const onlyWords = types.length > 0 && types.every((type) => type === "boolean" || type === "null");
  return onlyWords ? types.flatMap((type) => (type === "boolean" ? ["true", "false"] : ["null"])) : [];
}

/** What a field shows: the words of a string, the digits of a number, JSON as it stands. */
export const shownValue = (field: FormField): string => (field.value === null ? "" : field.kind === "text" ? (JSON.parse(field.value) as string) : field.value);

/** What is typed, as JSON text; null while it is none, as `1.` or an open bracket. */
export function typedValue(kind: FieldKind, typed: string): string | null {
  if (kind === "text") return JSON.stringify(typed);
  const text = typed.trim();
  if (!isJson(text)) return null;
  return kind === "number" && !/^[-\d]/.test(text) ? null : text;
}
