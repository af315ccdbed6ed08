/** Toasts only for what the person did; errors appear where they happened instead. */
import { useSyncExternalStore } from "react";
import { Icon } from "./Icon";

interface Toast {
  id: number;
  text: string;
}

let toasts: Toast[] = [];
let next = 1;
const listeners = new Set<() => void>();
const set = (value: Toast[]) => {
  toasts = value;
  listeners.forEach((tell) => tell());
};
const drop = (id: number) => set(toasts.filter((toast) => toast.id !== id));

export function toast(text: string) {
  const id = next++;
  set([...toasts.slice(-2), { id, text }]);
  setTimeout(() => drop(id), 8000);
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className="toasts" role="status">
      {shown.map((item) => (
        <div key={item.id} className="toast">
          <span>{item.text}</span>
          <button type="button" className="copy" aria-label="Dismiss" onClick={() => drop(item.id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
