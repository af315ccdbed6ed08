/** Edits of JSON text in place: one value is set or taken out by its span, and every other character stays as it was typed.
 * No value is ever decoded, so `1.0`, `1e5` and `12345678901234567890` survive whatever is edited beside them. */

export type Kind = "object" | "array" | "string" | "number" | "word";
export type Path = readonly (string | number)[];

/** A value and where it stands, `end` exclusive. Only objects have members, only arrays items. */
export interface Span {
  kind: Kind;
  start: number;
  end: number;
  members: Member[];
  items: Span[];
}
export interface Member {
  key: string;
  start: number;
  value: Span;
}

/** Where the text stops being JSON, in lines and columns from 1. */
export class NotJson extends Error {
  readonly line: number;
  readonly column: number;

  constructor(text: string, at: number, what: string) {
    const before = text.slice(0, at).split("\n");
    super(`Line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}: ${what}`);
    this.line = before.length;
    this.column = (before.at(-1)?.length ?? 0) + 1;
  }
}

const DEEPEST = 64;
const SPACE = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y; // eslint-disable-line no-control-regex
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;

/** The spans of a JSON text. Throws NotJson. */
export function spans(text: string): Span {
  return new Reader(text).whole();
}

class Reader {
  private readonly text: string;
  private at = 0;

  constructor(text: string) {
    this.text = text;
  }

  whole(): Span {
    const value = this.value(0);
    this.skip();
    if (this.at < this.text.length) this.fail("nothing may follow the value");
    return value;
  }

  private value(depth: number): Span {
    this.skip();
    const start = this.at;
    const first = this.text.charAt(start);
    if (depth > DEEPEST) this.fail(`nested deeper than ${DEEPEST} levels`);
    if (first === "{") return this.object(start, depth);
    if (first === "[") return this.array(start, depth);
    const kind = first === '"' ? "string" : /[-\d]/.test(first) ? "number" : "word";
    const end = this.take(kind === "string" ? STRING : kind === "number" ? NUMBER : WORD);
    if (end === null) this.fail(kind === "string" ? "a string that does not end, or holds a bare control character" : "a value is missing");
    return { kind, start, end: this.at, members: [], items: [] };
  }

  private object(start: number, depth: number): Span {
    const members: Member[] = [];
    this.list("}", () => {
      const at = this.at;
      const key = this.take(STRING);
      if (key === null) this.fail("a key in quotes is missing");
      this.skip();
      if (!this.eat(":")) this.fail("a colon is missing");
      members.push({ key: JSON.parse(key) as string, start: at, value: this.value(depth + 1) });
    });
    return { kind: "object", start, end: this.at, members, items: [] };
  }

  private array(start: number, depth: number): Span {
    const items: Span[] = [];
    this.list("]", () => items.push(this.value(depth + 1)));
    return { kind: "array", start, end: this.at, members: [], items };
  }

  private list(close: string, one: () => void) {
    this.at += 1;
    this.skip();
    if (this.eat(close)) return;
    do {
      this.skip();
      one();
      this.skip();
    } while (this.eat(","));
    if (!this.eat(close)) this.fail(`a comma or ${close} is missing`);
  }

  private skip() {
    this.take(SPACE);
  }

  private eat(mark: string): boolean {
    if (this.text.charAt(this.at) !== mark) return false;
    this.at += 1;
    return true;
  }

  private take(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found === undefined) return null;
    this.at += found.length;
    return found;
  }

  private fail(what: string): never {
    throw new NotJson(this.text, this.at, what);
  }
}

const step = (from: Span, part: string | number): Span | null =>
  (typeof part === "number" ? from.items[part] : from.members.findLast((one) => one.key === part)?.value) ?? null;

/** The value at a path; null when there is none. */
export const find = (root: Span, path: Path): Span | null => path.reduce<Span | null>((from, part) => from && step(from, part), root);

/** The text of the value at a path, as it stands; null when there is none or the text is no JSON. */
export function valueAt(text: string, path: Path): string | null {
  const found = isJson(text) ? find(spans(text), path) : null;
  return found && text.slice(found.start, found.end);
}

export function isJson(text: string): boolean {
  try {
    spans(text);
    return true;
  } catch {
    return false;
  }
}

/** The text with `value` at `path`. A missing member is put in last, a missing object on the way is made. Throws NotJson. */
export function withValue(text: string, path: Path, value: string): string {
  const root = spans(text);
  const old = find(root, path);
  if (old) return text.slice(0, old.start) + value + text.slice(old.end);
  const [key, above] = [String(path.at(-1)), path.slice(0, -1)];
  const parent = find(root, above);
  if (parent?.kind !== "object") return withValue(text, above, `{${JSON.stringify(key)}: ${value}}`);
  const last = parent.members.at(-1);
  const at = last?.value.end ?? parent.start + 1;
  const gap = last ? `,${spaceBefore(text, last.start) || " "}` : "";
  return `${text.slice(0, at)}${gap}${JSON.stringify(key)}: ${value}${text.slice(at)}`;
}

const spaceBefore = (text: string, at: number) => /[ \t\n\r]*$/.exec(text.slice(0, at))?.[0] ?? "";

/** The text without the member at `path`; as it was when there is none. Throws NotJson. */
export function withoutMember(text: string, path: Path): string {
  const parent = find(spans(text), path.slice(0, -1));
  const index = parent?.members.findLastIndex((one) => one.key === path.at(-1)) ?? -1;
  const one = parent?.members[index];
  if (!parent || !one) return text;
  const next = parent.members[index + 1];
  const previous = parent.members[index - 1];
  const [start, end] = next ? [one.start, next.start] : [previous?.value.end ?? one.start, one.value.end];
  return text.slice(0, start) + text.slice(end);
}
