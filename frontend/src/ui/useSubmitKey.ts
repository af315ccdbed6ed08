/** `⌘↵` does the primary action of a form, also while one types in it. */
import { useRef } from "react";
import { PART, useKeys } from "./keys";

export function useSubmitKey(what: string) {
  const form = useRef<HTMLFormElement>(null);
  useKeys("This form", [{ keys: "mod+Enter", what, typing: true, run: () => form.current?.requestSubmit() }], PART);
  return form;
}
