/** The runs of a resumer. One worker at a time handles a run, and failures are retried with backoff. */
import type { PausedRun } from "./resumer.js";

interface KnownRun {
  id: string;
  requests: readonly string[];
  state: "idle" | "queued" | "busy";
  /** Whether something happened while it was busy. */
  again: boolean;
  failures: number;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether its requests were read since the stream was opened: from then on the stream tells of them. */
  read: boolean;
  settled: boolean;
}

const FIRST = 500;
const LONGEST = 300_000;

export class Runs {
  #known = new Map<string, KnownRun>();
  /** Which run waits for a request. */
  #of = new Map<string, string>();
  #queue: KnownRun[] = [];
  #busy = new Set<Promise<void>>();
  #closed = false;

  /** `attend` returns in how many milliseconds to look at the run again; nothing if only an event should do it. */
  constructor(
    private readonly atOnce: number,
    private readonly attend: (run: string) => Promise<number | undefined>,
    private readonly failed: (error: unknown, run: string) => void,
  ) {}

  /** Queues the run; also once more after `later`, if the store may not have it yet. */
  want(id: string, later?: number): void {
    const known = this.#get(id);
    if (known.state === "idle") this.#enqueue(known);
    else known.again = true;
    if (later !== undefined) known.timer ??= this.#timer(known, later);
  }

  /** The store has the run. Its requests are read unless the stream would have reported a decision. */
  stored({ id, requests }: PausedRun): void {
    const known = this.#known.get(id);
    if (known?.read && same(known.requests, requests)) return;
    if (known?.timer === undefined || known.failures === 0) this.want(id);
  }

  /** The requests of a run as it is stored now; empty if it does not wait. */
  waits(id: string, requests: readonly string[] | undefined): void {
    const known = this.#get(id);
    if (!same(known.requests, requests ?? [])) known.settled = false;
    for (const each of known.requests) this.#of.delete(each);
    known.requests = requests ?? [];
    for (const each of known.requests) this.#of.set(each, id);
    known.read = true;
  }

  /** Whether a run waits for this request; it is looked at then. */
  decided(request: string): boolean {
    const id = this.#of.get(request);
    if (id === undefined) return false;
    const known = this.#get(id);
    known.failures = 0;
    this.want(id);
    return true;
  }

  /** The stream was interrupted, so everything must be read again. */
  doubt(): void {
    for (const known of this.#known.values()) known.read = false;
  }

  /** Whether this was asked before about the same requests. */
  settled(id: string): boolean {
    const known = this.#get(id);
    const before = known.settled;
    known.settled = true;
    return before;
  }

  close(): void {
    this.#closed = true;
    this.#queue = [];
    for (const { timer } of this.#known.values()) clearTimeout(timer);
  }

  /** Resolves when nothing is under way. */
  async ended(): Promise<void> {
    while (this.#busy.size > 0) await Promise.all(this.#busy);
  }

  #get(id: string): KnownRun {
    const found = this.#known.get(id);
    if (found) return found;
    const blank = {
      requests: [],
      state: "idle",
      again: false,
      failures: 0,
      read: false,
      settled: false,
    } as const;
    const known: KnownRun = { id, ...blank, timer: undefined };
    this.#known.set(id, known);
    return known;
  }

  #timer(known: KnownRun, ms: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      known.timer = undefined;
      if (!this.#closed) this.want(known.id);
    }, ms);
  }

  #enqueue(known: KnownRun): void {
    if (this.#closed) return;
    clearTimeout(known.timer);
    known.timer = undefined;
    known.state = "queued";
    this.#queue.push(known);
    this.#pump();
  }

  #pump(): void {
    while (this.#busy.size < this.atOnce) {
      const known = this.#queue.shift();
      if (!known) return;
      const work = this.#work(known).finally(() => {
        this.#busy.delete(work);
        this.#pump();
      });
      this.#busy.add(work);
    }
  }

  async #work(known: KnownRun): Promise<void> {
    known.state = "busy";
    known.again = false;
    let later: number | undefined;
    try {
      later = await this.attend(known.id);
      known.failures = 0;
    } catch (error) {
      const doubled = Math.min(FIRST * 2 ** known.failures, LONGEST);
      known.failures += 1;
      later = doubled * (0.5 + Math.random() / 2);
      this.failed(error, known.id);
    }
    known.state = "idle";
    if (this.#closed) return;
    if (known.again) this.#enqueue(known);
    else if (later !== undefined) known.timer ??= this.#timer(known, later);
    else if (known.requests.length === 0 && known.timer === undefined) this.#known.delete(known.id);
  }
}

function same(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each, at) => each === other[at]);
}
