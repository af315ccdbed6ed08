/** The one websocket of the page: subscriptions by topic, each following from its cursor; reconnects with back-off and goes on
 * from the last cursor seen. Knows nothing of React; `useLink` in `link.ts` shows its state. */
import type { ClientFrame, LiveEvent, ServerFrame } from "../api/types";

type Cursor = string | number | null;

export interface Follower {
  topic: string;
  after: Cursor;
  events: (events: LiveEvent[]) => void;
  /** Caught up: what follows is new. */
  live?: () => void;
  /** The cursor is too old: load the snapshot again, then subscribe anew. */
  resync: () => void;
}

export type LinkState = { kind: "idle" | "connecting" | "live" } | { kind: "lost"; since: number; retryAt: number };

const BACKOFF_MS = [500, 1000, 2000, 4000, 8000, 15000];
const PING_MS = 20_000;
const SILENCE_MS = 50_000;

export class LiveSocket {
  private socket: WebSocket | null = null;
  private readonly followers = new Map<number, Follower>();
  private readonly listeners = new Set<() => void>();
  private nextId = 1;
  private failures = 0;
  private lostAt: number | null = null;
  private heardAt = 0;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private pingTimer: ReturnType<typeof setInterval> | undefined;
  private link: LinkState = { kind: "idle" };
  private readonly open: () => WebSocket;

  constructor(open: () => WebSocket) {
    this.open = open;
  }

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  readonly state = () => this.link;

  /** Follows a topic until the returned function is called. */
  follow(follower: Follower): () => void {
    const id = this.nextId++;
    this.followers.set(id, follower);
    if (this.socket?.readyState === WebSocket.OPEN) this.ask(id, follower);
    else this.connect();
    return () => {
      this.followers.delete(id);
      if (this.socket?.readyState === WebSocket.OPEN) this.send({ op: "unsub", id });
    };
  }

  /** Tries again at once. */
  readonly retry = () => {
    clearTimeout(this.retryTimer);
    this.retryTimer = undefined;
    this.connect();
  };

  readonly close = () => {
    clearTimeout(this.retryTimer);
    clearInterval(this.pingTimer);
    this.followers.clear();
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    this.lostAt = null;
    this.set({ kind: "idle" });
  };

  private connect() {
    if (this.socket || this.retryTimer) return;
    const socket = this.open();
    this.socket = socket;
    if (this.link.kind !== "lost") this.set({ kind: "connecting" });
    socket.onopen = () => this.opened();
    socket.onmessage = (message) => this.heard(String(message.data));
    socket.onclose = () => {
      if (this.socket === socket) this.lost();
    };
  }

  private opened() {
    this.failures = 0;
    this.lostAt = null;
    this.heardAt = Date.now();
    this.set({ kind: "live" });
    for (const [id, follower] of this.followers) this.ask(id, follower);
    this.pingTimer = setInterval(() => this.ping(), PING_MS);
  }

  private ping() {
    if (Date.now() - this.heardAt > SILENCE_MS) this.socket?.close();
    else this.send({ op: "ping", id: 0 });
  }

  private lost() {
    this.socket = null;
    clearInterval(this.pingTimer);
    if (this.followers.size === 0) return this.set({ kind: "idle" });
    const wait = BACKOFF_MS[Math.min(this.failures, BACKOFF_MS.length - 1)] ?? 15_000;
    this.failures += 1;
    this.lostAt ??= Date.now();
    this.set({ kind: "lost", since: this.lostAt, retryAt: Date.now() + wait });
    this.retryTimer = setTimeout(this.retry, wait);
  }

  private heard(text: string) {
    this.heardAt = Date.now();
    const frame = JSON.parse(text) as ServerFrame;
    const follower = this.followers.get(frame.id);
    if (!follower) return;
    if (frame.seq !== undefined && frame.seq !== null) follower.after = frame.seq;
    if (frame.events) follower.events(frame.events);
    if (frame.live) follower.live?.();
    if (frame.resync) {
      this.followers.delete(frame.id);
      follower.resync();
    }
    if (frame.error) this.followers.delete(frame.id);
  }

  private ask(id: number, follower: Follower) {
    this.send({ op: "sub", id, topic: follower.topic, after: follower.after });
  }

  private send(frame: Partial<ClientFrame> & Pick<ClientFrame, "op" | "id">) {
    this.socket?.send(JSON.stringify(frame));
  }

  private set(state: LinkState) {
    this.link = state;
    this.listeners.forEach((tell) => tell());
  }
}
