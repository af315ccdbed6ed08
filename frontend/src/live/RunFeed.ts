/** One run followed live: the run, its steps in order (loaded in blocks, first block first), and what comes after.
 * A step that comes again replaces itself in place, so nothing jumps. */
import { api } from "../api/client";
import type { LiveEvent, RunOut, RunRow, Step, Steps } from "../api/types";
import type { FeedState } from "./JobFeed";
import { live } from "./link";
import { pulse } from "./pulse";

export interface RunView {
  run: RunOut;
  steps: Step[];
  /** How many steps the server has; more than `steps` while blocks still load. */
  total: number;
  loading: boolean;
}

const BLOCK = 500;
const FACTS_MS = 4000;

export class RunFeed {
  private state: FeedState<RunView> = { view: null, error: null };
  private readonly listeners = new Set<() => void>();
  private beat!: ReturnType<typeof pulse>;
  private aborter = new AbortController();
  private run: RunOut | null = null;
  private steps: Step[] = [];
  private readonly places = new Map<string, number>();
  private total = 0;
  private loading = true;
  private unfollow: (() => void) | null = null;
  private facts: ReturnType<typeof setTimeout> | undefined;
  private readonly id: string;
  private readonly attempt: number | null;

  constructor(id: string, attempt: number | null) {
    this.id = id;
    this.attempt = attempt;
  }

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  readonly snapshot = () => this.state;

  readonly start = () => {
    this.aborter = new AbortController();
    this.beat = pulse(() => this.flush(), 120);
    void this.load();
    return () => this.stop();
  };

  readonly load = async () => {
    try {
      const [run, first] = await Promise.all([this.readRun(), this.readSteps(0)]);
      this.run = run;
      this.steps = [];
      this.places.clear();
      this.take(first);
      this.flush();
      this.readFactsSoon();
      const last = await this.loadRest(first);
      this.loading = false;
      this.flush();
      this.followFrom(last);
    } catch (error) {
      if (!this.aborter.signal.aborted) this.set({ view: this.state.view, error });
    }
  };

  private async loadRest(first: Steps): Promise<number> {
    let block = first;
    while (block.next_after !== null) {
      block = await this.readSteps(block.next_after);
      this.take(block);
      this.beat.beat();
    }
    return block.last_seq;
  }

  private readRun = () => api<RunOut>(`/api/runs/${this.id}`, { signal: this.aborter.signal });
  private readSteps = (after: number) =>
    api<Steps>(`/api/runs/${this.id}/steps`, { query: { after, limit: BLOCK, attempt: this.attempt }, signal: this.aborter.signal });

  private take(block: Steps) {
    this.total = block.total;
    block.items.forEach((step) => this.put(step));
  }

  private put(step: Step) {
    const key = `${step.attempt}:${step.span_id}`;
    const place = this.places.get(key);
    if (place !== undefined) this.steps[place] = step;
    else this.places.set(key, this.steps.push(step) - 1);
  }

  private followFrom(seq: number) {
    this.unfollow?.();
    this.unfollow = live.follow({ topic: `run:${this.id}`, after: seq, events: (events) => this.heard(events), resync: () => void this.load() });
  }

  private heard(events: LiveEvent[]) {
    for (const event of events) {
      if (event.kind === "step" && this.shows(event.step)) this.put(event.step);
      if (event.kind === "run") this.heardRun(event.run);
    }
    this.beat.beat();
  }

  private shows(step: Step) {
    return step.attempt === (this.attempt ?? this.run?.attempt ?? step.attempt);
  }

  private heardRun(row: RunRow) {
    if (!this.run || row.revision < this.run.revision) return;
    const newAttempt = row.attempt !== this.run.attempt && this.attempt === null;
    const over = row.counted !== "pending" && this.run.counted === "pending";
    this.run = { ...this.run, ...row };
    if (newAttempt) void this.load();
    else if (over) this.readFacts();
  }

  /** Phase, heartbeat and the like are not in live frames: read now and then while the run goes on. */
  private readFactsSoon() {
    clearTimeout(this.facts);
    if (this.run?.counted === "pending") this.facts = setTimeout(() => this.readFacts(), FACTS_MS);
  }

  private readFacts() {
    this.readRun().then(
      (run) => {
        this.run = run;
        this.flush();
        this.readFactsSoon();
      },
      () => this.readFactsSoon(),
    );
  }

  private flush() {
    if (!this.run) return;
    this.set({ view: { run: this.run, steps: [...this.steps], total: Math.max(this.total, this.steps.length), loading: this.loading }, error: null });
  }

  private set(state: FeedState<RunView>) {
    this.state = state;
    this.listeners.forEach((tell) => tell());
  }

  private stop() {
    this.aborter.abort();
    this.unfollow?.();
    this.beat.stop();
    clearTimeout(this.facts);
  }
}
