/** Theme, density and the side bar: kept per browser, applied by `/theme.js` before the first paint. */
import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";
export type Density = "compact" | "default" | "comfortable";

const listeners = new Set<() => void>();
const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");

const read = (key: string) => localStorage.getItem(`proctor.${key}`);
function write(key: string, value: string) {
  localStorage.setItem(`proctor.${key}`, value);
  apply();
}

/** What the side bar does on this page while the person has not said otherwise: run pages need the width. */
let sideOfPage = "open";
export function suitSide(pathname: string) {
  sideOfPage = pathname.startsWith("/trace/") ? "shut" : "open";
  apply();
}

function apply() {
  const theme = read("theme");
  root.dataset["theme"] = theme === "light" || theme === "dark" ? theme : dark.matches ? "dark" : "light";
  root.dataset["density"] = read("density") ?? "default";
  root.dataset["side"] = read("side") ?? sideOfPage;
  listeners.forEach((tell) => tell());
}
dark.addEventListener("change", apply);

export const theme = () => (read("theme") ?? "system") as Theme;
export const setTheme = (value: Theme) => write("theme", value);
export const setDensity = (value: Density) => write("density", value);
export const toggleSide = () => write("side", root.dataset["side"] === "shut" ? "open" : "shut");
export const flipTheme = () => setTheme(root.dataset["theme"] === "dark" ? "light" : "dark");

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};
export const useShownTheme = () => useSyncExternalStore(subscribe, () => root.dataset["theme"] ?? "light");
export const useTheme = () => useSyncExternalStore(subscribe, theme);
export const useDensity = () => useSyncExternalStore(subscribe, () => (read("density") ?? "default") as Density);

export interface Recent {
  to: string;
  text: string;
  kind: "taskset" | "job" | "run" | "environment";
}

/** The last eight things looked at, newest first. */
export function recents(): Recent[] {
  try {
    return JSON.parse(read("recent") ?? "[]") as Recent[];
  } catch {
    return [];
  }
}

export function remember(recent: Recent) {
  const rest = recents().filter((item) => item.to !== recent.to);
  localStorage.setItem("proctor.recent", JSON.stringify([recent, ...rest].slice(0, 8)));
}
