/** Text as a person reads it: a little Markdown, no raw HTML, no pictures from elsewhere, the host of every link shown. */
import { useMemo } from "react";
import type { Block, Inline } from "./markdown";
import { blocksOf } from "./markdown";

const LONGEST = 64_000;

export function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => blocksOf(text.slice(0, LONGEST)), [text]);
  return (
    <div className="markdown">
      {blocks.map((block, index) => (
        <Part key={index} block={block} />
      ))}
      {text.length > LONGEST && <p className="text-text-3">cut at 64 kB; the arguments below have the whole</p>}
    </div>
  );
}

function Part({ block }: { block: Block }) {
  if (block.kind === "code") return <pre className="code">{block.text}</pre>;
  if (block.kind === "list") {
    const List = block.ordered ? "ol" : "ul";
    return (
      <List>
        {block.items.map((parts, index) => (
          <li key={index}>
            <Inlines parts={parts} />
          </li>
        ))}
      </List>
    );
  }
  if (block.kind === "quote") return <blockquote><Inlines parts={block.parts} /></blockquote>;
  return (
    <p className={block.kind === "heading" ? `h h${Math.min(3, block.level)}` : undefined}>
      <Inlines parts={block.parts} />
    </p>
  );
}

const Inlines = ({ parts }: { parts: Inline[] }) =>
  parts.map((part, index) => {
    if (part.kind === "link") {
      return (
        <a key={index} href={part.to} target="_blank" rel="noopener noreferrer nofollow">
          {part.text} <span className="text-text-3">({new URL(part.to).host})</span>
        </a>
      );
    }
    const Tag = ({ text: "span", code: "code", strong: "strong", em: "em" } as const)[part.kind];
    return <Tag key={index}>{part.text}</Tag>;
  });
