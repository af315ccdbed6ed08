/** The little of Markdown that prompts use, as plain data: headings, lists, fenced code, quotes, emphasis, code and web links. Pure.
 * What it does not know stays as the text it is, raw HTML too; a picture is a link at most. */

export type Inline = { kind: "text" | "code" | "strong" | "em"; text: string } | { kind: "link"; text: string; to: string };
export type Block =
  | { kind: "paragraph" | "quote"; parts: Inline[] }
  | { kind: "heading"; level: number; parts: Inline[] }
  | { kind: "list"; ordered: boolean; items: Inline[][] }
  | { kind: "code"; text: string };

const FENCE = /^\s*(```|~~~)/;
const HEADING = /^(#{1,6})\s+(.+?)\s*#*$/;
const ITEM = /^\s*(?:([-*+])|\d{1,9}[.)])\s+(.*)$/;

export function blocksOf(text: string): Block[] {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const found: Block[] = [];
  let plain: string[] = [];
  const flush = () => {
    if (plain.length) found.push({ kind: "paragraph", parts: inlinesOf(plain.join("\n")) });
    plain = [];
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const heading = HEADING.exec(line);
    const item = ITEM.exec(line);
    const fence = FENCE.exec(line);
    if (fence) {
      flush();
      const end = lines.findIndex((other, index) => index > at && other.trim().startsWith(fence[1] ?? "```"));
      found.push({ kind: "code", text: lines.slice(at + 1, end < 0 ? undefined : end).join("\n") });
      at = end < 0 ? lines.length : end;
    } else if (heading) {
      flush();
      found.push({ kind: "heading", level: heading[1]?.length ?? 1, parts: inlinesOf(heading[2] ?? "") });
    } else if (item) {
      const last = found.at(-1);
      const ordered = item[1] === undefined;
      const parts = inlinesOf(item[2] ?? "");
      if (plain.length === 0 && last?.kind === "list" && last.ordered === ordered) last.items.push(parts);
      else {
        flush();
        found.push({ kind: "list", ordered, items: [parts] });
      }
    } else if (line.startsWith("> ")) {
      flush();
      found.push({ kind: "quote", parts: inlinesOf(line.slice(2)) });
    } else if (line.trim() === "") flush();
    else plain.push(line);
  }
  flush();
  return found;
}

const INLINE = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|(?<![\w*])\*([^*\s][^*\n]*)\*(?![\w*])|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)/g;

export function inlinesOf(text: string): Inline[] {
  const found: Inline[] = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > at) found.push({ kind: "text", text: text.slice(at, match.index) });
    const [whole, code, strong, em, label, to] = match;
    if (code !== undefined) found.push({ kind: "code", text: code });
    else if (strong !== undefined) found.push({ kind: "strong", text: strong });
    else if (em !== undefined) found.push({ kind: "em", text: em });
    else if (label !== undefined && to !== undefined) found.push({ kind: "link", text: label, to });
    at = match.index + whole.length;
  }
  if (at < text.length) found.push({ kind: "text", text: text.slice(at) });
  return found;
}
