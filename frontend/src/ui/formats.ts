/** How numbers, times and ids read, in one place. Absent is `–`, never 0; minus is `−`, never a hyphen. */

export const ABSENT = "–";
type Maybe = number | null | undefined;

const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const there = (value: Maybe): value is number => typeof value === "number" && Number.isFinite(value);
const minus = (text: string) => text.replace(/^-/, "−");
const two = (value: number) => String(value).padStart(2, "0");

/** `1,319`; above 99,999 short: `2.11 M`. */
export function count(value: Maybe): string {
  if (!there(value)) return ABSENT;
  if (Math.abs(value) <= 99_999) return minus(whole.format(value));
  const [size, unit] = Math.abs(value) < 999_500 ? [1e3, "k"] : Math.abs(value) < 999_500_000 ? [1e6, "M"] : [1e9, "G"];
  return minus(`${(value / size).toPrecision(3)} ${unit}`);
}

/** `1 run`, `1,319 runs`. */
export const plural = (value: number, word: string, many = `${word}s`) => `${count(value)} ${value === 1 ? word : many}`;

export const percent = (share: Maybe) => (there(share) ? `${minus((share * 100).toFixed(1))} %` : ABSENT);

/** Two decimals in lists, three in headlines; the whole number belongs in the tip. */
export const reward = (value: Maybe, decimals = 2) => (there(value) ? minus(value.toFixed(decimals)) : ABSENT);

/** `$0.0187`: four significant below a dollar, two decimals above. */
export function money(value: Maybe): string {
  if (!there(value)) return ABSENT;
  if (value === 0) return "$0.00";
  if (value < 0.0001) return "<$0.0001";
  if (value >= 1) return `$${value.toFixed(2)}`;
  return `$${Number(value.toPrecision(4)).toFixed(4)}`;
}

/** Decimal: `31.4 MB`. */
export function bytes(value: Maybe): string {
  if (!there(value)) return ABSENT;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let size = value;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return unit === 0 ? `${size} B` : `${size < 10 ? size.toFixed(1) : size.toFixed(size < 100 ? 1 : 0)} ${units[unit]}`;
}

/** `0.4 s`, `41 s`, `1 m 43 s`, `3 h 12 m`, `2 d 4 h`. */
export function duration(seconds: Maybe): string {
  if (!there(seconds)) return ABSENT;
  const s = Math.max(0, seconds);
  if (s < 9.95) return `${s.toFixed(1)} s`;
  const total = Math.round(s);
  if (total < 60) return `${total} s`;
  if (total < 3600) return `${Math.floor(total / 60)} m ${total % 60} s`;
  const minutes = Math.round(s / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
  const hours = Math.round(s / 3600);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Seconds between two instants as the wire gives them; null when one is missing. */
export function between(start: string | null | undefined, end: string | null | undefined): number | null {
  if (!start || !end) return null;
  const seconds = (Date.parse(end) - Date.parse(start)) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}

const clock = (at: Date) => `${two(at.getHours())}:${two(at.getMinutes())}`;

/** Under an hour `21 minutes ago`, today `14:02`, this year `28 Nov 14:02`, else `28 Nov 2025`. */
export function when(iso: string | null | undefined, now: Date = new Date()): string {
  const at = iso ? new Date(iso) : null;
  if (!at || Number.isNaN(at.getTime())) return ABSENT;
  const ago = (now.getTime() - at.getTime()) / 1000;
  if (ago >= -60 && ago < 45) return "just now";
  if (ago >= 0 && ago < 3570) return `${plural(Math.max(1, Math.round(ago / 60)), "minute")} ago`;
  if (at.toDateString() === now.toDateString()) return clock(at);
  const day = `${at.getDate()} ${MONTHS[at.getMonth()]}`;
  return at.getFullYear() === now.getFullYear() ? `${day} ${clock(at)}` : `${day} ${at.getFullYear()}`;
}

/** Local and UTC in full, for the tip of a `<time>`. */
export function fullTime(iso: string): string {
  const at = new Date(iso);
  const local = `${at.getDate()} ${MONTHS[at.getMonth()]} ${at.getFullYear()} ${clock(at)}:${two(at.getSeconds())}`;
  return `${local} (${at.toISOString().replace("T", " ").slice(0, 19)} UTC)`;
}

/** `sha256:9f2c41d07be8`. */
export function digest(value: string | null | undefined): string {
  if (!value) return ABSENT;
  const hex = value.replace(/^sha256:/, "");
  return `sha256:${hex.slice(0, 12)}`;
}

export const shortId = (id: string) => id.replaceAll("-", "").slice(0, 8);

const HEX32 = /^[0-9a-f]{32}$/i;
const DASHED = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
export const isUuid = (text: string) => HEX32.test(text) || DASHED.test(text);

/** Both spellings of an id in a URL mean the same object; inside the page it is dashed. */
export function dashed(id: string): string {
  if (!HEX32.test(id)) return id.toLowerCase();
  return id.toLowerCase().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** An id made here; pages over plain HTTP have no `randomUUID`. */
export const newId = () => dashed([...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
