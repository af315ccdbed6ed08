/** The formats that a version can be had in, and what each can't carry (docs/reference/formats.md). */

export interface FileFormat {
  name: string;
  title: string;
  about: string;
}

export const FORMATS: readonly FileFormat[] = [
  { name: "jsonl", title: "JSON Lines", about: "A task on each line, everything as it is. Loads in the SDK." },
  { name: "json", title: "JSON", about: "The same as one document, with the version's digest." },
  { name: "csv", title: "CSV", about: "For spreadsheets, which cut cells of over 32,767 characters." },
  { name: "parquet", title: "Parquet", about: "For data tools. Objects are columns of JSON text." },
  { name: "zip", title: "Task folders (zip)", about: "Harbor's layout. Without older versions of the environments." },
];

/** `path` is the download of a version. A link carries no team header, so the team stands in the address. */
export function downloadPath(path: string, format: string, team: string | null): string {
  return `${path}?${new URLSearchParams({ format, ...(team ? { team } : {}) }).toString()}`;
}
