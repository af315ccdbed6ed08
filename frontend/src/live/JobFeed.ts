/** A job followed live: snapshot, then every run's whole state, flushed at most four times a second. Rows keep their order.
 * When all runs are over, or one appears that the snapshot did not have, the job itself is read again. */
import { api } from "../api/client";
import type { JobOut, LiveEvent, Matrix, MatrixTask, RunRow } from "../api/types";
import type { MatrixRow, Tally } from "../runs/tally";
import { matrixRows, tally } from "../runs/tally";
import { live } from "./link";
import { pulse } from "./pulse";

export interface JobView {
  job: JobOut;
  rows: MatrixRow[];
  sums: Tally;
}

export type FeedState<T> = { view: T | null; error: unknown };

const REREAD_MS = 3000;

export class JobFeed {
  private state: FeedState<JobView> = { view: null, error: null };
  private readonly listeners = new Set<() => void>();
  private beat!: ReturnType<typeof pulse>;
  private aborter = new AbortController();
  private job: JobOut | null = null;
  private tasks: MatrixTask[] = [];
  private readonly runs = new Map<string, RunRow>();
  private unfollow: (() => void) | null = null;
  private reread: ReturnType<typeof setTimeout> | undefined;
  private readonly id: string;

  constructor(id: string) {
    this.id = id;
  }

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  readonly snapshot = () => this.state;

  readonly start = () => {
    this.aborter = new AbortController();
    this.beat = pulse(() => this.flush());
    void this.load();
    return () => this.stop();
  };

  readonly load = async () => {
    try {
      const matrix = await api<Matrix>(`/api/jobs/${this.id}/matrix`, { signal: this.aborter.signal });
      this.job = matrix.job;
      this.tasks = matrix.tasks;
      for (const run of matrix.runs) this.take(run);
      this.flush();
      this.followFrom(matrix.seq);
    } catch (error) {
      if (!this.aborter.signal.aborted) this.set({ view: this.state.view, error });
    }
  };

  /** After a rename, cancel or archive the reply holds the job. */
  readonly accept = (job: JobOut) => {
    this.job = job;
    this.flush();
  };

  private followFrom(seq: string) {
    this.unfollow?.();
    this.unfollow = live.follow({ topic: `job:${this.id}`, after: seq, events: (events) => this.heard(events), resync: () => void this.load() });
  }

  private heard(events: LiveEvent[]) {
    for (const event of events) {
      if (event.kind !== "run") continue;
      if (!this.runs.has(event.run.id)) this.readJobSoon();
      if (event.run.counted !== "pending") this.readJobSoon();
      this.take(event.run);
    }
    this.beat.beat();
  }

  private take(run: RunRow) {
    const known = this.runs.get(run.id);
    if (!known || known.revision <= run.revision) this.runs.set(run.id, run);
  }

  /** Failures, state and the plan's size are the server's: read again, but not for every run. */
  private readJobSoon() {
    this.reread ??= setTimeout(() => {
      this.reread = undefined;
      api<JobOut>(`/api/jobs/${this.id}`, { signal: this.aborter.signal }).then(this.accept, () => this.beat.beat());
    }, this.isOver() ? 300 : REREAD_MS);
  }

  private isOver() {
    return [...this.runs.values()].every((run) => run.counted !== "pending");
  }

  private flush() {
    if (!this.job) return;
    const runs = [...this.runs.values()];
    this.set({ view: { job: this.job, rows: matrixRows(this.tasks, runs), sums: tally(runs, this.job.counts.expected) }, error: null });
  }

  private set(state: FeedState<JobView>) {
    this.state = state;
    this.listeners.forEach((tell) => tell());
  }

  private stop() {
    this.aborter.abort();
    this.unfollow?.();
    this.beat.stop();
    clearTimeout(this.reread);
  }
}
