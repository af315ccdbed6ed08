/** Copying answers in place and politely to readers. */
import { useEffect, useState } from "react";
import { digest, shortId } from "./formats";
import { Icon } from "./Icon";

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** Pages served over plain HTTP have no clipboard API; a selected field still copies. */
function copyBySelection(text: string): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  field.style.position = "fixed";
  field.style.opacity = "0";
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}

export function Copy({ text, label, words = false }: { text: string; label: string; words?: boolean }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => setSaid(""), 1600);
    return () => clearTimeout(timer);
  }, [said]);
  return (
    <button
      type="button"
      className={words ? "btn" : "copy"}
      aria-label={label}
      title={label}
      onClick={async (event) => {
        event.stopPropagation();
        setSaid((await copyText(text)) ? "copied" : "press Ctrl C");
      }}
    >
      {said || words ? null : <Icon name="copy" />}
      {words && !said ? (
        <>
          <Icon name="copy" /> Copy
        </>
      ) : null}
      <span aria-live="polite">{said}</span>
    </button>
  );
}

export function Id({ id, what }: { id: string; what: string }) {
  return (
    <span className="id" title={id}>
      {shortId(id)}
      <Copy text={id} label={`Copy ${what} id`} />
    </span>
  );
}

export function Digest({ value, what }: { value: string; what: string }) {
  return (
    <span className="id" title={value}>
      {digest(value)}
      <Copy text={value} label={`Copy ${what}`} />
    </span>
  );
}

/** One command or a few lines, ready to copy. */
export function Command({ code, label }: { code: string; label: string }) {
  return (
    <div className="cmd">
      <code>{code}</code>
      <Copy text={code} label={`Copy ${label}`} />
    </div>
  );
}
