/** Pauses between attempts: exponential backoff with a cap and jitter. */

const FIRST = 100;
const LONGEST = 5_000;

/** One outage, from its first failure on, by a monotonic clock. */
export class Outage {
  #began: number | undefined;
  #attempts = 0;

  /** The server answered, so the outage is over. */
  over(): void {
    this.#began = undefined;
    this.#attempts = 0;
  }

  /** Milliseconds since the first failure. */
  lasted(now = performance.now()): number {
    return this.#began === undefined ? 0 : now - this.#began;
  }

  /** Sets the beginning, unless an earlier one is known. */
  since(moment: number): void {
    this.#began ??= moment;
  }

  /** Counts one more failure; returns the milliseconds to pause, or nothing if the budget is spent. */
  pause(budget: number, asked = 0, now = performance.now()): number | undefined {
    this.#began ??= now;
    const doubled = Math.min(FIRST * 2 ** this.#attempts, LONGEST);
    this.#attempts += 1;
    const pause = Math.max(doubled * (0.5 + Math.random() / 2), asked);
    return now - this.#began + pause <= budget ? pause : undefined;
  }
}

/** Resolves after `ms`; rejects with the signal's reason when it is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done, failed) => {
    if (signal?.aborted) return failed(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      failed(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      done();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** The promise, or the signal's reason as soon as it is aborted. The promise goes on. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise((done, failed) => {
    const stop = () => failed(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(done, failed).finally(() => signal.removeEventListener("abort", stop));
  });
}
