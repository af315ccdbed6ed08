/** The page's own search: `/` goes here; the answer follows the typing after a moment. */
import { useEffect, useRef, useState } from "react";
import { Icon } from "./Icon";

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  width?: number | string;
  /** Of the page, so that `/` goes here. */
  page?: boolean;
}

export function Search({ label, value, onChange, width = 280, page = true }: Props) {
  const [text, setText] = useState(value);
  const [given, setGiven] = useState(value);
  const tell = useRef(onChange);
  useEffect(() => {
    tell.current = onChange;
  });
  if (given !== value) {
    setGiven(value);
    setText(value);
  }
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => tell.current(text), 200);
    return () => clearTimeout(timer);
  }, [text, value]);
  return (
    <div className="field" style={{ width, maxWidth: "100%" }}>
      <Icon name="search" small />
      <input
        data-page-search={page || undefined}
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          if (text) setText("");
          else event.currentTarget.blur();
        }}
      />
      {page && <kbd aria-hidden="true">/</kbd>}
    </div>
  );
}
