/**
 * Resumes paused runs when their requests are decided. The framework's store has the waiting runs, Placet has the
 * decisions, and the single-use permit makes sure that one process runs the call.
 */
import { isRecord } from "../answer.js";
import { ANSWER } from "../body.js";
import type { Placet } from "../client.js";
import { type Duration, milliseconds } from "../duration.js";
import { ConfigError } from "../errors.js";
import { RetryableError } from "../http.js";
import { checkListener, checkOptions, type Names } from "../options.js";
import { Outage, sleep } from "../retry.js";
import { inSessionOf } from "../session.js";
import type { SseEvent } from "../sse.js";
import { readAnswer } from "../strict.js";
import type { RequestRecord } from "../wire.js";
import { Runs } from "./runs.js";
import type { Lock } from "./store.js";

/** A stored run that waits, and the requests that must be decided before it can go on. */
export interface PausedRun {
  id: string;
  requests: readonly string[];
}

/** The stored runs of a framework, and how to resume one. */
export interface ResumeSource {
  readonly client: Placet;
  /** The framework's name in the context of its requests. */
  readonly framework: string;
  /** Every stored run that waits for a decision. */
  waiting(): Promise<Iterable<PausedRun>>;
  /** One run as it is stored now; nothing if it does not wait. */
  find(run: string): Promise<PausedRun | undefined>;
  /** The run that made a request, if the request names it. */
  runOf?(record: RequestRecord): string | undefined;
  /**
   * Resumes with the decision, until the run ends or pauses again. It may be called again for the same
   * pause. The session that the request was made in is around it. With `alone` no other process handles this run, so a process that claimed one of its permits is gone.
   */
  goOn(run: string, how: { alone: boolean }): Promise<unknown>;
  /** A lock per run, if the store has one. */
  readonly lock?: Lock;
}

export interface ResumerOptions {
  /** How many runs are resumed at the same time; 4. */
  atOnce?: number;
  /** How often the store is read, besides on every connection of the stream; 60 s. */
  every?: Duration;
  /**
   * One process at a time for each run. Without it two processes may go on with one run: the call itself still runs once, and
   * a run whose permit somebody else claimed waits until its outcome is on record, an hour at most.
   */
  lock?: Lock;
  /** Called when a run could not be resumed. It is retried with backoff. Without it, a warning is printed. */
  onError?: (error: unknown, run?: string) => unknown;
  /** Called when a run was resumed, to its end or to its next pause. */
  onResumed?: (run: string) => unknown;
}

const NAMES = {
  ...{ atOnce: true, every: true, lock: true, onError: true, onResumed: true },
} as const satisfies Names<ResumerOptions>;

/** How long the process that ran a call has to store the result, before another process resumes the run. */
const SETTLE = 5_000;
/** When to look again at a run that another process handles. */
const TAKEN = 2_000;
/** How often the store is read, at most, for requests of unknown runs. */
const SOON = 1_000;

export class Resumer {
  readonly #source: ResumeSource;
  readonly #options: ResumerOptions;
  readonly #every: number;
  readonly #lock: Lock | undefined;
  readonly #runs: Runs;
  readonly #end = new AbortController();
  #scanning: Promise<void> | undefined;
  #again = false;
  #soon: ReturnType<typeof setTimeout> | undefined;
  #running: Promise<void> | undefined;

  constructor(source: ResumeSource, options: ResumerOptions = {}) {
    checkOptions("new Resumer()", options, NAMES);
    const { atOnce = 4, every = 60_000 } = options;
    for (const name of ["lock", "onError", "onResumed"] as const) checkListener(name, options[name]);
    if (!Number.isInteger(atOnce) || atOnce < 1)
      throw new ConfigError("atOnce must be a whole number from 1 on");
    this.#source = source;
    this.#options = options;
    this.#every = milliseconds(every, "every");
    this.#lock = options.lock ?? source.lock;
    this.#runs = new Runs(
      atOnce,
      (run) => this.#attend(run),
      (error, run) => this.#tell(error, run),
    );
  }

  /**
   * Resumes runs until the signal is aborted or `close` is called, and resolves when the running ones have ended. Rejects
   * when the server does not accept the key.
   */
  run(signal?: AbortSignal): Promise<void> {
    if (this.#running) throw new ConfigError("this resumer runs already");
    const stop = () => this.#stop();
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) stop();
    this.#running = this.#work().finally(() => signal?.removeEventListener("abort", stop));
    return this.#running;
  }

  /** Stops it. Runs that are being resumed are not interrupted: it resolves when they have ended. */
  async close(): Promise<void> {
    this.#stop();
    await this.#running?.catch(() => undefined);
  }

  /** Reports a run that was just stored, so that it is looked at now. */
  look(run: string): void {
    if (!this.#end.signal.aborted) this.#runs.want(run);
  }

  #stop(): void {
    this.#end.abort();
    clearTimeout(this.#soon);
    this.#runs.close();
  }

  async #work(): Promise<void> {
    const { signal } = this.#end;
    const now_and_then = (async () => {
      while (!signal.aborted) {
        this.#scan();
        await sleep(this.#every, signal).catch(() => undefined);
      }
    })();
    try {
      await this.#listen(signal);
    } finally {
      this.#stop();
      await now_and_then;
      await this.#scanning;
      await this.#runs.ended();
    }
  }

  /** Follows one stream until it ends. Each connection begins with a read of the store, because decisions may have been missed. */
  async #listen(signal: AbortSignal): Promise<void> {
    const outage = new Outage();
    const opened = () => {
      outage.over();
      this.#runs.doubt();
      this.#scan();
    };
    while (!signal.aborted) {
      try {
        await this.#source.client.hear(signal, opened, (event) => this.#heard(event, opened));
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof RetryableError)) throw error;
        const pause = outage.pause(Number.POSITIVE_INFINITY, error.after) as number;
        await sleep(pause, signal).catch(() => undefined);
      }
    }
  }

  #heard(event: SseEvent, reset: () => void): void {
    if (event.event === "reset") reset();
    if (event.event === "reset" || event.data === "") return;
    let record: unknown;
    try {
      record = (readAnswer(event.data, ANSWER) as { record?: unknown } | null)?.record;
    } catch {
      // An event that is not understood: look at everything again.
      reset();
      return;
    }
    if (!isRecord(record) || record.state === "pending" || this.#end.signal.aborted) return;
    if (this.#runs.decided(record.id) || record.context?.framework !== this.#source.framework) return;
    const run = this.#source.runOf?.(record);
    // The run may not be stored yet, so look again a little later.
    if (run !== undefined) this.#runs.want(run, SOON);
    else this.#scanSoon();
  }

  #scanSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#scan();
    }, SOON);
  }

  /** Reads the store; one read at a time. */
  #scan(): void {
    if (this.#end.signal.aborted) return;
    if (this.#scanning) {
      this.#again = true;
      return;
    }
    this.#scanning = this.#look()
      .catch((error: unknown) => this.#tell(error))
      .finally(() => {
        this.#scanning = undefined;
        if (!this.#again) return;
        this.#again = false;
        this.#scan();
      });
  }

  async #look(): Promise<void> {
    for (const run of await this.#source.waiting()) this.#runs.stored(run);
  }

  /** Resumes a run if it can. Returns in how many milliseconds to look again; nothing if only an event should do it. */
  async #attend(run: string): Promise<number | undefined> {
    const release = this.#lock === undefined ? undefined : await this.#lock(run);
    const alone = release !== undefined;
    if (this.#lock !== undefined && !alone) return TAKEN;
    try {
      let before = "";
      for (;;) {
        const found = await this.#source.find(run);
        this.#runs.waits(run, found?.requests);
        if (!found || this.#end.signal.aborted) return undefined;
        const records = await Promise.all(found.requests.map((id) => this.#source.client.get(id)));
        const states = records.map(({ state }) => state);
        if (states.includes("pending")) return undefined;
        if (!alone && states.includes("claimed")) return undefined;
        const ran = states.some((state) => state === "succeeded" || state === "failed");
        if (!alone && ran && !this.#runs.settled(run)) return SETTLE;
        const now = `${found.requests.join()} ${states.join()}`;
        // The run waits for the same requests again: wait before the next try, so that it does not loop.
        if (now === before) return SETTLE;
        before = now;
        await inSessionOf(records[0], this.#source.client, () => this.#source.goOn(run, { alone }));
        this.#notify(() => this.#options.onResumed?.(run));
      }
    } finally {
      await release?.();
    }
  }

  #tell(error: unknown, run?: string): void {
    const { onError } = this.#options;
    if (onError) {
      this.#notify(() => onError(error, run));
      return;
    }
    const text = error instanceof Error ? error.message : String(error);
    console.warn(`placet: ${run === undefined ? "paused runs" : `the paused run ${run}`}: ${text}`);
  }

  /** A listener that throws changes nothing. */
  #notify(listener: () => unknown): void {
    try {
      Promise.resolve(listener()).catch(() => undefined);
    } catch {
      // An asynchronous error changes nothing either.
    }
  }
}
