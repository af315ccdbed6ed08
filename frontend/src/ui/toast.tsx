/** Toasts only for what the person did; errors appear where they happened instead. One may carry an undo, which `⌘Z` presses too. */
import { useSyncExternalStore } from "react";
import { Icon } from "./Icon";
import { SHELL, shownKeys, useKeys } from "./keys";

interface Action {
  text: string;
  run: () => void;
}
interface Toast {
  id: number;
  text: string;
  action: Action | undefined;
}

const SHOWN_MS = 8000;
let toasts: Toast[] = [];
let next = 1;
const listeners = new Set<() => void>();
const timers = new Map<number, ReturnType<typeof setTimeout>>();
const set = (value: Toast[]) => {
  toasts = value;
  listeners.forEach((tell) => tell());
};

function drop(id: number) {
  hold(id);
  set(toasts.filter((toast) => toast.id !== id));
}
function hold(id: number) {
  clearTimeout(timers.get(id));
  timers.delete(id);
}
/** The time starts anew when the pointer or the focus leaves. */
function letGo(id: number) {
  hold(id);
  timers.set(id, setTimeout(() => drop(id), SHOWN_MS));
}

export function toast(text: string, action?: Action) {
  const id = next++;
  toasts.slice(0, -2).forEach((old) => hold(old.id));
  set([...toasts.slice(-2), { id, text, action }]);
  letGo(id);
}

function act(toast: Toast) {
  drop(toast.id);
  toast.action?.run();
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  const last = shown.findLast((one) => one.action);
  useKeys("Everywhere", last ? [{ keys: "mod+z", what: last.action?.text ?? "", run: () => act(last) }] : [], SHELL);
  return (
    <div className="toasts" role="status">
      {shown.map((item) => (
        <div key={item.id} className="toast" onPointerEnter={() => hold(item.id)} onPointerLeave={() => letGo(item.id)} onFocus={() => hold(item.id)} onBlur={() => letGo(item.id)}>
          <span>{item.text}</span>
          {item.action && (
            <button type="button" className="btn ghost" onClick={() => act(item)}>
              {item.action.text} <kbd>{shownKeys("mod+z")}</kbd>
            </button>
          )}
          <button type="button" className="copy" aria-label="Dismiss" onClick={() => drop(item.id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
