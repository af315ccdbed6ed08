/** The page's socket and what React sees of it. */
import { useSyncExternalStore } from "react";
import { LiveSocket } from "./socket";

export const live = new LiveSocket(() => new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`));

export const useLink = () => useSyncExternalStore(live.subscribe, live.state);
