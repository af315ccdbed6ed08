/** The one upload that is on its way in this tab; it goes on while its page is left, and is found again there. */
import { useSyncExternalStore } from "react";
import type { Progress, Uploader } from "./uploader";

let current: Uploader | null = null;
const listeners = new Set<() => void>();

export function setUpload(upload: Uploader | null) {
  current = upload;
  listeners.forEach((tell) => tell());
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useUpload = () => useSyncExternalStore(subscribe, () => current);

const silent = () => () => {};
export const useProgress = (upload: Uploader | null): Progress | null =>
  useSyncExternalStore(
    upload ? upload.subscribe : silent,
    () => upload?.progress ?? null,
  );
