/** JSON as text: cut into tokens, laid out and taken apart without ever parsing numbers, so digits and key order stay as given. */

export type TokenKind = "key" | "string" | "number" | "word" | "mark";
export interface Token {
  kind: TokenKind;
  text: string;
}

const PIECE = /\s+|"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[[\]{},:]/y;

/** The tokens of a JSON text; null when it is not JSON-like. White space is dropped. */
export function tokens(text: string): Token[] | null {
  const found: Token[] = [];
  let at = 0;
  while (at < text.length) {
    PIECE.lastIndex = at;
    const piece = PIECE.exec(text)?.[0];
    if (piece === undefined) return null;
    at += piece.length;
    const first = piece.charAt(0);
    if (/\s/.test(first)) continue;
    if (piece === ":" && found.at(-1)?.kind === "string") (found.at(-1) as Token).kind = "key";
    found.push({ kind: kindOf(first), text: piece });
  }
  return found;
}

function kindOf(first: string): TokenKind {
  if (first === '"') return "string";
  if (first === "-" || (first >= "0" && first <= "9")) return "number";
  return "[]{},:".includes(first) ? "mark" : "word";
}

/** Two-space layout as lines of tokens; text that is no JSON comes back as it is, one line. */
export function layOut(text: string): Token[][] {
  const found = tokens(text);
  if (!found) return [[{ kind: "word", text }]];
  const lines: Token[][] = [[]];
  let depth = 0;
  const line = () => lines.push(depth ? [{ kind: "mark", text: "  ".repeat(depth) }] : []);
  const put = (token: Token) => lines.at(-1)?.push(token);
  found.forEach((token, index) => {
    const next = found[index + 1]?.text;
    const opens = token.text === "{" || token.text === "[";
    const closes = token.text === "}" || token.text === "]";
    const empty = opens && (next === "}" || next === "]");
    const before = found[index - 1]?.text;
    if (closes && before !== "{" && before !== "[") {
      depth -= 1;
      line();
    } else if (closes) depth -= 1;
    put(token.text === ":" ? { kind: "mark", text: ": " } : token);
    if (opens) depth += 1;
    if ((opens && !empty) || token.text === ",") line();
  });
  return lines;
}

/** The raw text of one member of the outermost object, exactly as written; null when there is none. */
export function member(text: string, name: string): string | null {
  let depth = 0;
  let at = 0;
  let start = -1;
  let key: string | null = null;
  while (at < text.length) {
    PIECE.lastIndex = at;
    const piece = PIECE.exec(text)?.[0];
    if (piece === undefined) return null;
    if (start >= 0 && depth === 1 && (piece === "," || piece === "}")) return text.slice(start, at).trim();
    if (piece === "{" || piece === "[") depth += 1;
    else if (piece === "}" || piece === "]") depth -= 1;
    else if (depth === 1 && piece === ":" && key === JSON.stringify(name)) start = at + 1;
    else if (depth === 1 && piece.startsWith('"') && start < 0) key = piece;
    at += piece.length;
  }
  return null;
}
