/** Page keys: one listener, none works while typing, `?` can list what is bound. Sequences (`g t`) wait a second. */
import { useLayoutEffect, useRef } from "react";

export interface KeyBinding {
  /** `j`, `?`, `g t`, `mod+k`, `mod+Enter`. */
  keys: string;
  what: string;
  run: (event: KeyboardEvent) => void;
  /** Also while a field has the focus. */
  typing?: boolean;
}

interface Group {
  title: string;
  level: number;
  current: { bindings: KeyBinding[] };
}

const groups: Group[] = [];
let waiting: { first: string; at: number } | null = null;

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) && !/^(checkbox|radio|button)$/.test((target as HTMLInputElement).type ?? "");

export function nameOf(event: KeyboardEvent): string {
  if (event.metaKey || event.ctrlKey) return `mod+${event.key.length === 1 ? event.key.toLowerCase() : event.key}`;
  return event.key;
}

function onKey(event: KeyboardEvent) {
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  const name = nameOf(event);
  const typing = isTyping(event.target);
  const sequence = waiting && Date.now() - waiting.at < 1000 ? `${waiting.first} ${name}` : null;
  waiting = null;
  const open = document.querySelector("[role=dialog],[role=menu]") !== null;
  const binding = (sequence && bound(sequence, typing, open)) || bound(name, typing, open);
  if (binding) {
    event.preventDefault();
    binding.run(event);
    return;
  }
  if (!typing && !open && name.length === 1) waiting = { first: name, at: Date.now() };
}

/** A sequence that has begun wins over its last key alone. */
function bound(keys: string, typing: boolean, open: boolean): KeyBinding | undefined {
  const all = groups.toSorted((a, b) => b.level - a.level).flatMap((group) => group.current.bindings);
  return all.find((one) => one.keys === keys && (!typing || one.typing) && (!open || keys.startsWith("mod+")));
}

let listening = false;

export const SHELL = 0;
const PAGE = 1;
export const PART = 2;

/** Binds keys while the component is mounted. A part of a page wins over the page, and the page over the shell. What is drawn has its
 * keys in the same moment (layout effects): somebody quick, or a test, presses before the browser has painted. */
export function useKeys(title: string, bindings: KeyBinding[], level = PAGE) {
  const current = useRef({ bindings });
  useLayoutEffect(() => {
    current.current.bindings = bindings;
  });
  useLayoutEffect(() => {
    const group = { title, level, current: current.current };
    groups.push(group);
    if (!listening) {
      listening = true;
      window.addEventListener("keydown", onKey);
    }
    return () => {
      groups.splice(groups.indexOf(group), 1);
    };
  }, [title, level]);
}

/** What is bound now, for the help sheet and the command menu. */
export const boundKeys = () => groups.map((group) => ({ title: group.title, bindings: group.current.bindings }));

export const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** `mod+k` → `⌘K` or `Ctrl K`. */
export const shownKeys = (keys: string) =>
  keys.replace(/mod\+Enter/, isMac ? "⌘↵" : "Ctrl ↵").replace(/mod\+(.)/, (_, key: string) => (isMac ? `⌘${key.toUpperCase()}` : `Ctrl ${key.toUpperCase()}`));
