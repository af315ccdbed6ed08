/** The words a person recognises a task by: the longest text in its arguments, else the arguments themselves. Works on a cut preview too. */

export function promptOf(args: string): string {
  const texts = [...args.matchAll(/:\s*"((?:[^"\\]|\\.)*)"?/g)].map((found) => found[1] ?? "");
  const longest = texts.reduce((best, text) => (text.length > best.length ? text : best), "");
  return longest.length > 12 ? unescaped(longest) : args;
}

function unescaped(text: string): string {
  return text.replace(/\\[nrt]/g, " ").replace(/\\u([0-9a-fA-F]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))).replace(/\\(["\\/])/g, "$1");
}
