/** Uploads that are not whole, kept in this browser: what a person needs to go on after a reload or a cut connection. */

export interface Unfinished {
  /** Of the upload session. */
  id: string;
  filename: string;
  size: number;
  fingerprint: string;
  received: number;
  /** The taskset it is meant for, or the name of a new one. */
  taskset: string | null;
  name: string;
  format: string;
  at: number;
}

const KEY = "proctor.uploads";
const LIFE_MS = 24 * 3600 * 1000;

export function unfinished(now = Date.now()): Unfinished[] {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "[]") as Unfinished[];
    return found.filter((one) => now - one.at < LIFE_MS);
  } catch {
    return [];
  }
}

export function remember(upload: Unfinished) {
  write([upload, ...unfinished().filter((one) => one.id !== upload.id)].slice(0, 10));
}

export function forget(id: string) {
  write(unfinished().filter((one) => one.id !== id));
}

function write(uploads: Unfinished[]) {
  try {
    localStorage.setItem(KEY, JSON.stringify(uploads));
  } catch {
    return; // a full or forbidden storage only costs the going on after a reload
  }
}
