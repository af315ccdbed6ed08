/** JSON text in colours, laid out but never re-written: numbers and key order stay as they came. */
import { useMemo } from "react";
import type { Token } from "./jsonText";
import { layOut } from "./jsonText";
import { Copy } from "./Copy";

const CLASS: Partial<Record<Token["kind"], string>> = { key: "k", string: "sv", number: "nv", word: "nv" };
const LONGEST = 64_000;

export function Json({ text, label }: { text: string; label: string }) {
  const lines = useMemo(() => layOut(text.slice(0, LONGEST)), [text]);
  return (
    <div className="relative min-w-0">
      <pre className="code scroll max-h-[420px]" tabIndex={0} aria-label={label}>
        {lines.map((line, index) => (
          <span key={index}>
            {line.map((token, at) => (
              <span key={at} className={CLASS[token.kind]}>
                {token.text}
              </span>
            ))}
            {"\n"}
          </span>
        ))}
        {text.length > LONGEST && <span className="text-text-3">cut at 64 kB; copying gives the whole</span>}
      </pre>
      <span className="absolute right-1 top-1 rounded-1 bg-code">
        <Copy text={text} label={`Copy ${label}`} />
      </span>
    </div>
  );
}
