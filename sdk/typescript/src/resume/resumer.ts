/**
 * Takes paused runs up again when their requests are decided: no application writes that loop. The framework's store says
 * what waits; Placet says what was decided; the single-use permit says who runs it.
 */
import { isRecord } from "../answer.js";
import { ANSWER } from "../body.js";
import type { Placet } from "../client.js";
import { type Duration, milliseconds } from "../duration.js";
import { ConfigError } from "../errors.js";
import { Again } from "../http.js";
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

/** What a framework has stored, and how it goes on. */
export interface ResumeSource {
  readonly client: Placet;
  /** The framework's name in the context of its requests. */
  readonly framework: string;
  /** Every stored run that waits for a decision. */
  waiting(): Promise<Iterable<PausedRun>>;
  /** One of them as it is stored now; nothing when it does not wait. */
  find(run: string): Promise<PausedRun | undefined>;
  /** Which run asked for this, where the request says so. */
  runOf?(record: RequestRecord): string | undefined;
  /**
   * Answers with what was decided, and goes on until the run ends or pauses again. It may be called again for the same
   * pause. The session that the request was made in is around it. With `alone` no other process is at this run, so whoever claimed one of its permits is gone.
   */
  goOn(run: string, how: { alone: boolean }): Promise<unknown>;
  /** Where the store itself can say that one process at a time has a run. */
  readonly lock?: Lock;
}

export interface ResumerOptions {
  /** How many runs go on at the same time; 4. */
  atOnce?: number;
  /** How often the store is looked at, besides every connection of the stream; 60 s. */
  every?: Duration;
  /**
   * One process at a time for each run. Without it two processes may go on with one run: the call itself still runs once, and
   * a run whose permit somebody else claimed waits until its outcome is on record, an hour at most.
   */
  lock?: Lock;
  /** Told when a run could not go on. It is tried again after a growing pause. A warning on the console unless given. */
  onError?: (error: unknown, run?: string) => unknown;
  /** Told when a run has gone on, to its end or to its next pause. */
  onResumed?: (run: string) => unknown;
}

const NAMES = {
  ...{ atOnce: true, every: true, lock: true, onError: true, onResumed: true },
} as const satisfies Names<ResumerOptions>;

/** How long the process that ran a call has to store so, before another one goes on with the run. */
const SETTLE = 5_000;
/** A run that another process has is looked at again after this. */
const TAKEN = 2_000;
/** Requests that no known run has asked for: the store is looked at, at most so often. */
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
   * Goes on with runs until the signal is aborted or `close` is called, and resolves when those under way have ended. Rejects
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

  /** Ends it. Runs under way are not broken off: it resolves when they have ended. */
  async close(): Promise<void> {
    this.#stop();
    await this.#running?.catch(() => undefined);
  }

  /** A run has just been stored: it is looked at now, and not only when the store is looked at. */
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

  /** One stream, for as long as it goes. A connection may have missed decisions, so each begins with a look at the store. */
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
        if (!(error instanceof Again)) throw error;
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
      // Whatever it was, it was not understood: everything is looked at again.
      reset();
      return;
    }
    if (!isRecord(record) || record.state === "pending" || this.#end.signal.aborted) return;
    if (this.#runs.decided(record.id) || record.context?.framework !== this.#source.framework) return;
    const run = this.#source.runOf?.(record);
    // It may not be stored yet: once more a little later.
    if (run !== undefined) this.#runs.want(run, SOON);
    else this.#scanSoon();
  }

  #scanSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#scan();
    }, SOON);
  }

  /** Looks at the store; one look at a time. */
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

  /** Goes on with a run if it can. What it says is in how many milliseconds to look again, if by itself at all. */
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
        // It went on, and waits for the same again: not at once, or it would turn in a circle.
        if (now === before) return SETTLE;
        before = now;
        await inSessionOf(records[0], this.#source.client, () => this.#source.goOn(run, { alone }));
        this.#told(() => this.#options.onResumed?.(run));
      }
    } finally {
      await release?.();
    }
  }

  #tell(error: unknown, run?: string): void {
    const { onError } = this.#options;
    if (onError) {
      this.#told(() => onError(error, run));
      return;
    }
    const text = error instanceof Error ? error.message : String(error);
    console.warn(`placet: ${run === undefined ? "paused runs" : `the paused run ${run}`}: ${text}`);
  }

  /** A listener that throws changes nothing. */
  #told(listener: () => unknown): void {
    try {
      Promise.resolve(listener()).catch(() => undefined);
    } catch {
      // Nor does it here.
    }
  }
}
