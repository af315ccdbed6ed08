/** Which files can be imported, by name; what a wrong one should be turned into; the formats and their templates. */

export const ENDINGS = [".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson", ".parquet", ".zip"] as const;
const PACKED = [".gz", ".gzip", ".zst", ".zstd"];
export const ACCEPT = [...ENDINGS, ...PACKED, ".txt"].join(",");
export const RIGHT = "CSV, TSV, JSON, JSONL, Parquet, any of these as .gz or .zst, or a zip of task folders";

/** What `POST /api/imports` takes as `format`, and the words for it. */
export const FORMATS = [
  ["csv", "CSV"],
  ["tsv", "TSV"],
  ["json", "JSON"],
  ["jsonl", "JSON Lines"],
  ["parquet", "Parquet"],
  ["zip", "Zip of task folders"],
  ["openai_evals", "OpenAI Evals"],
  ["inspect", "Inspect samples"],
] as const;

const ADVICE: Record<string, string> = {
  ".xlsx": "Save the sheet as CSV.",
  ".xls": "Save the sheet as CSV.",
  ".ods": "Save the sheet as CSV.",
  ".numbers": "Export the sheet as CSV.",
  ".arrow": "Write the table as Parquet.",
  ".feather": "Write the table as Parquet.",
  ".pkl": "Write the rows as JSONL; pickles are programs.",
  ".sqlite": "Export the table as CSV.",
  ".yaml": "Write the rows as JSON.",
  ".yml": "Write the rows as JSON.",
  ".xml": "Write the rows as JSON.",
  ".tar": "Pack the task folders as a zip.",
  ".tgz": "Pack the task folders as a zip.",
  ".7z": "Pack the task folders as a zip.",
  ".rar": "Pack the task folders as a zip.",
  ".py": "Sync tasks from code with `hud sync tasks`.",
};

const endingOf = (name: string) => /\.[a-z0-9]+$/.exec(name.toLowerCase())?.[0] ?? "";

/** The name without what it is packed with. */
function unpacked(name: string): string {
  const ending = endingOf(name);
  return PACKED.includes(ending) ? name.slice(0, -ending.length) : name;
}

/** Why a file of this name is not one to import; null when it may be one. Names without an ending are looked into by the server. */
export function wrongKind(name: string): string | null {
  const ending = endingOf(unpacked(name));
  if (ending === "" || ending === ".txt" || (ENDINGS as readonly string[]).includes(ending)) return null;
  return `${name} is not a kind that can be imported. ${ADVICE[ending] ?? ""} Right are ${RIGHT}.`.replace("  ", " ");
}

/** `gsm8k_test.csv.gz` → `gsm8k_test`: a first name for a new taskset. */
export function nameFrom(filename: string): string {
  const inner = unpacked(filename);
  const ending = endingOf(inner);
  return (ending ? inner.slice(0, -ending.length) : inner).slice(0, 100);
}

/** A name for pasted text, by how it begins. */
export function pastedName(text: string): string {
  const start = text.trimStart();
  if (start.startsWith("[")) return "pasted.json";
  if (start.startsWith("{")) return "pasted.jsonl";
  return (text.split("\n", 1)[0] ?? "").includes("\t") ? "pasted.tsv" : "pasted.csv";
}
