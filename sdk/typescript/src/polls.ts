/** Long polls in place of a stream: a bounded number at a time, in turn. */
import { RetryableError } from "./http.js";
import { sleep } from "./retry.js";

/** How many reads or long polls one client has open at a time. */
export const AT_ONCE = 16;
/** One long poll: shorter than what proxies cut off, long enough to cost nothing. */
const POLL = 25_000;

/** The waiting ids, and how to read one. `look` throws nothing but `RetryableError`. */
export interface Waiters {
  ids(): IterableIterator<string>;
  count(): number;
  look(id: string, wait: number | undefined, signal: AbortSignal): Promise<void>;
}

export class Polls {
  /** The open reads, by id. */
  #open = new Map<string, AbortController>();
  /** When each id had its last turn. */
  #turns = new Map<string, number>();
  #turn = 0;
  /** Whether the network lets a call be held open. */
  #long = true;
  #begin: (() => void) | undefined;

  constructor(private readonly waiters: Waiters) {}

  /** Goes on for `ms`, or until nobody waits; ends with the first failure that may pass, if there is one. */
  async run(ms: number, signal: AbortSignal): Promise<RetryableError | undefined> {
    const over = new AbortController();
    const stop = () => over.abort();
    signal.addEventListener("abort", stop, { once: true });
    const timer = setTimeout(stop, ms);
    let failure: RetryableError | undefined;
    await new Promise<void>((done) => {
      const begin = () => {
        while (!over.signal.aborted && this.#open.size < AT_ONCE) {
          const id = this.#next();
          if (id === undefined) break;
          void this.#look(id, over).then((failed) => {
            failure ??= failed;
            if (failed) stop();
            begin();
          });
        }
        if (this.#open.size === 0) done();
      };
      over.signal.addEventListener("abort", () => this.#drop());
      if (signal.aborted) stop();
      this.#begin = begin;
      begin();
    });
    this.#begin = undefined;
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    this.#turns.clear();
    // Networks change: the next time long polls may hold again.
    if (!failure) this.#long = true;
    return failure;
  }

  /** Somebody new waits. */
  entered(): void {
    this.#begin?.();
  }

  /** Nobody waits for this one any more. */
  left(id: string): void {
    this.#turns.delete(id);
    this.#open.get(id)?.abort();
  }

  #drop(): void {
    for (const look of this.#open.values()) look.abort();
  }

  /** The id whose last turn is longest ago. */
  #next(): string | undefined {
    let next: string | undefined;
    let oldest = Number.POSITIVE_INFINITY;
    for (const id of this.waiters.ids()) {
      const turn = this.#turns.get(id) ?? -1;
      if (turn < oldest && !this.#open.has(id)) [next, oldest] = [id, turn];
    }
    return next;
  }

  async #look(id: string, over: AbortController): Promise<RetryableError | undefined> {
    const look = new AbortController();
    this.#open.set(id, look);
    this.#turn += 1;
    this.#turns.set(id, this.#turn);
    // When more calls wait than polls may be open, everybody gets a shorter turn.
    const share = (POLL * AT_ONCE) / Math.max(AT_ONCE, this.waiters.count());
    const began = performance.now();
    const spent = () => performance.now() - began;
    try {
      await this.waiters.look(id, this.#long ? Math.max(500, share) : undefined, look.signal);
      // A server or proxy that does not hold calls must not be asked in a hot loop.
      if (!look.signal.aborted && (!this.#long || spent() < 250))
        await sleep(500 + Math.random() * 1_000, look.signal);
      return undefined;
    } catch (error) {
      if (look.signal.aborted || over.signal.aborted) return undefined;
      if (this.#long && spent() > 1_000) {
        // It broke only because it was held open: ask without that.
        this.#long = false;
        return undefined;
      }
      return error instanceof RetryableError ? error : new RetryableError(String(error));
    } finally {
      this.#open.delete(id);
    }
  }
}
