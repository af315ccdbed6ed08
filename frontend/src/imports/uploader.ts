/** A file on its way in parts: progress, speed, pause, going on after a cut. Lives outside React, so it goes on while one looks elsewhere.
 * Memory stays flat: each part is a slice that the browser reads from the disk when it is sent. */
import { ApiError, api } from "../api/client";
import type { UploadSession } from "../api/types";
import { fingerprint } from "./fingerprint";
import { forget, remember } from "./memory";
import type { Unfinished } from "./memory";
import { putPart } from "./putPart";

export type UploadState = "reading" | "sending" | "paused" | "waiting" | "whole" | "failed";

export interface Progress {
  state: UploadState;
  sent: number;
  /** Bytes a second over the last few seconds; null when not known. */
  speed: number | null;
  /** When the next try begins, of `waiting`. */
  retryAt: number | null;
  error: unknown;
}

export interface Wish {
  taskset: string | null;
  name: string;
  format: string;
}

const PART = 4 * 1024 ** 2;
const SPEED_OVER_MS = 4000;
const SHOW_EVERY_MS = 200;
const WAITS_S = [1, 2, 4, 8, 15];

export class Uploader {
  readonly file: File;
  readonly wish: Wish;
  progress: Progress = { state: "reading", sent: 0, speed: null, retryAt: null, error: null };
  private session: UploadSession | null = null;
  private mark = "";
  private stop = new AbortController();
  private samples: { at: number; sent: number }[] = [];
  private listeners = new Set<() => void>();
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private shownAt = 0;

  constructor(file: File, wish: Wish) {
    this.file = file;
    this.wish = wish;
  }

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  get id(): string | null {
    return this.session?.id ?? null;
  }

  /** From the beginning; or, with an upload that was cut, from what the server has of it. */
  async start(known: Unfinished | null = null) {
    try {
      this.mark = await fingerprint(this.file);
      if (known && known.fingerprint !== this.mark) throw new OtherFile(known);
      this.session = known ? await api<UploadSession>(`/api/uploads/${known.id}`) : await this.begin();
      if (!this.isPaused()) await this.send();
    } catch (error) {
      this.fail(error);
    }
  }

  private begin(): Promise<UploadSession> {
    return api<UploadSession>("/api/uploads", { method: "POST", body: { filename: this.file.name, size_bytes: this.file.size } });
  }

  pause() {
    clearTimeout(this.timer);
    this.set({ state: "paused", speed: null, retryAt: null });
    this.stop.abort();
  }

  /** After a pause, or at once instead of waiting. */
  async resume() {
    clearTimeout(this.timer);
    this.set({ state: "sending", retryAt: null });
    try {
      if (this.session) this.session = await api<UploadSession>(`/api/uploads/${this.session.id}`);
      if (!this.isPaused()) await this.send();
    } catch (error) {
      this.fail(error);
    }
  }

  /** A pause may come while an answer is waited for. */
  private isPaused = () => this.progress.state === "paused";

  /** Throws the file away, here and on the server. */
  async drop() {
    this.pause();
    if (!this.session) return;
    forget(this.session.id);
    await api(`/api/uploads/${this.session.id}`, { method: "DELETE" });
  }

  private async send() {
    this.stop = new AbortController();
    this.samples = [];
    let session = this.session as UploadSession;
    this.set({ state: "sending", sent: session.received_bytes, error: null, retryAt: null });
    while (session.received_bytes < this.file.size) {
      const from = session.received_bytes;
      const part = this.file.slice(from, from + Math.min(PART, session.part_bytes));
      const received = await this.put(session.id, from, part);
      session = this.session = { ...session, received_bytes: received };
      this.failures = 0;
      this.keep();
    }
    this.keep();
    this.set({ state: "whole", sent: this.file.size, speed: null });
  }

  /** Where the server has another count, that one is true: an answer was lost, or a part. */
  private async put(id: string, from: number, part: Blob): Promise<number> {
    try {
      return await putPart(id, from, part, (sent) => this.count(from + Math.min(sent, part.size)), this.stop.signal);
    } catch (error) {
      const there = error instanceof ApiError ? error.details["received_bytes"] : undefined;
      if (typeof there === "number" && there !== from) return there;
      throw error;
    }
  }

  private count(sent: number) {
    const now = Date.now();
    this.samples = [...this.samples.filter((sample) => now - sample.at < SPEED_OVER_MS), { at: now, sent }];
    if (now - this.shownAt < SHOW_EVERY_MS) return;
    this.shownAt = now;
    const first = this.samples[0];
    const speed = first && now - first.at > 500 ? ((sent - first.sent) / (now - first.at)) * 1000 : this.progress.speed;
    this.set({ sent, speed });
  }

  private keep() {
    if (!this.session) return;
    remember({ ...this.wish, id: this.session.id, filename: this.file.name, size: this.file.size, fingerprint: this.mark, received: this.session.received_bytes, at: Date.now() });
  }

  private fail(error: unknown) {
    if (this.isPaused() || (error instanceof ApiError && error.code === "aborted")) return;
    if (error instanceof ApiError && error.status === 404 && this.session) forget(this.session.id);
    const cut = error instanceof ApiError && (error.status === 0 || error.status === 400 || error.status >= 502);
    if (!cut) return this.set({ state: "failed", error, speed: null });
    this.keep();
    const wait = (WAITS_S[this.failures++] ?? (WAITS_S.at(-1) as number)) * 1000;
    this.set({ state: "waiting", error, speed: null, retryAt: Date.now() + wait });
    this.timer = setTimeout(() => void (this.session ? this.resume() : this.start()), wait);
  }

  private set(change: Partial<Progress>) {
    this.progress = { ...this.progress, ...change };
    this.listeners.forEach((tell) => tell());
  }
}

export class OtherFile extends Error {
  constructor(known: Unfinished) {
    super(`This is another file than the ${known.filename} of which ${Math.floor((100 * known.received) / Math.max(1, known.size))} % is here: its size or its content differs.`);
  }
}
