/**
 * Waiting for people. All waiting calls of a client share one stream; without a stream a bounded number of long
 * polls takes turns, and if those are cut off, plain reads with jitter. A dropped wait is not a decision.
 */
import { isRecord, ofRequest } from "./answer.js";
import { ANSWER } from "./body.js";
import { type Http, RetryableError } from "./http.js";
import { located } from "./notice.js";
import { AT_ONCE, Polls } from "./polls.js";
import { Outage, sleep } from "./retry.js";
import type { SseEvent } from "./sse.js";
import { listen } from "./stream.js";
import { readAnswer } from "./strict.js";
import type { RequestRecord, StreamEvent } from "./wire.js";

/** Streams that must fail one after the other before long polls take over. */
const PATIENCE = 2;
/** How long long polls serve before the stream is tried again. */
const RETRY_STREAM = 30_000;
/** An idle stream stays for the next call, but not so long that it keeps a finished program alive. */
const LINGER = 500;

interface Waiter {
  id: string;
  /** The newest version seen, so that an older answer is ignored. */
  version: number;
  done: (record: RequestRecord) => void;
  failed: (error: unknown) => void;
  /** Outage budget of this wait in milliseconds, if it is not the client's. */
  budget: number | undefined;
  /** Called when the server is away, and when it is back. */
  told: ((why: "outage" | "back") => void) | undefined;
  /** Whether the listener was called for this outage. */
  away: boolean;
}

export class WaitingRoom {
  #waiters = new Map<string, Set<Waiter>>();
  #stream: AbortController | undefined;
  #connected = false;
  #cursor: string | undefined;
  #failures = 0;
  #outage = new Outage();
  #linger: ReturnType<typeof setTimeout> | undefined;
  /** Ids that wait for their turn to be read. */
  #reads = new Set<Waiter>();
  #reading = 0;
  #polls = new Polls({
    ids: () => this.#waiters.keys(),
    count: () => this.#waiters.size,
    look: (id, wait, signal) => this.#poll(id, wait, signal),
  });

  constructor(private readonly http: Http) {}

  /** The record once it is not pending any more. Rejects with the signal's reason, or when the budget is spent. */
  wait(
    id: string,
    options: { signal?: AbortSignal; budget?: number; told?: Waiter["told"] } = {},
  ): Promise<RequestRecord> {
    const { signal, budget, told } = options;
    return new Promise((done, failed) => {
      if (signal?.aborted) return failed(signal.reason);
      const stop = () => {
        this.#leave(waiter);
        failed(signal?.reason);
      };
      const end = () => signal?.removeEventListener("abort", stop);
      const waiter: Waiter = {
        id,
        version: -1,
        budget,
        told,
        away: false,
        done: (record) => {
          end();
          done(record);
        },
        failed: (error) => {
          end();
          failed(error);
        },
      };
      signal?.addEventListener("abort", stop, { once: true });
      this.#enter(waiter);
    });
  }

  /** How many calls wait, and whether the shared stream is open: for tests and diagnostics. */
  get state(): { waiting: number; streaming: boolean } {
    let waiting = 0;
    for (const same of this.#waiters.values()) waiting += same.size;
    return { waiting, streaming: this.#connected };
  }

  #enter(waiter: Waiter): void {
    clearTimeout(this.#linger);
    const same = this.#waiters.get(waiter.id);
    if (same) same.add(waiter);
    else this.#waiters.set(waiter.id, new Set([waiter]));
    this.#polls.entered();
    // It may have been decided before the stream followed it.
    if (this.#connected) this.#read(waiter);
    if (!this.#stream) {
      this.#stream = new AbortController();
      void this.#keep(this.#stream.signal);
    }
  }

  #leave(waiter: Waiter): void {
    const same = this.#waiters.get(waiter.id);
    if (!same?.delete(waiter)) return;
    if (same.size === 0) {
      this.#waiters.delete(waiter.id);
      this.#polls.left(waiter.id);
    }
    if (this.#waiters.size > 0) return;
    clearTimeout(this.#linger);
    this.#linger = setTimeout(() => this.close(), LINGER);
  }

  /** Ends the stream. Calls that still wait begin another one when they hear nothing. */
  close(): void {
    clearTimeout(this.#linger);
    if (this.#waiters.size > 0) return;
    this.#stream?.abort(new RetryableError("nobody waits"));
    this.#stream = undefined;
    this.#connected = false;
    // Events are missed from here on. The next waiter reads once and needs no history.
    this.#cursor = undefined;
    this.#outage.over();
    this.#failures = 0;
  }

  /** Keeps a stream open, or polls instead, while calls wait. */
  async #keep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await listen(
          this.http,
          this.#cursor,
          signal,
          () => this.#opened(),
          (event) => this.#heard(event),
        );
      } catch (error) {
        if (signal.aborted) return;
        this.#connected = false;
        if (!(error instanceof RetryableError)) {
          this.#fail(error);
          return this.close();
        }
        this.#failures += 1;
        const failure = this.#failures < PATIENCE ? error : await this.#polls.run(RETRY_STREAM, signal);
        if (failure && !signal.aborted) await this.#pause(failure, signal);
        if (this.#waiters.size === 0) return this.close();
      }
    }
  }

  #opened(): void {
    this.#connected = true;
    this.#failures = 0;
    this.#back();
    for (const same of this.#waiters.values()) for (const waiter of same) this.#read(waiter);
  }

  #heard(event: SseEvent): void {
    if (event.id !== undefined && event.id !== "") this.#cursor = event.id;
    if (event.event === "reset") this.#opened();
    if (event.event === "reset" || event.data === "") return;
    let record: unknown;
    try {
      record = (readAnswer(event.data, ANSWER) as unknown as StreamEvent | null)?.record;
    } catch {
      // An event that is not understood: read the record.
    }
    if (isRecord(record)) this.#saw(located(record, this.http.settings.url));
    else this.#opened();
  }

  /** The server answers. */
  #back(): void {
    this.#outage.over();
    for (const waiter of this.#all()) {
      if (waiter.away) waiter.told?.("back");
      waiter.away = false;
    }
  }

  #all(): Waiter[] {
    return [...this.#waiters.values()].flatMap((same) => [...same]);
  }

  /** A record that came from anywhere ends the waits for it, unless it is still pending. */
  #saw(record: RequestRecord): void {
    const same = this.#waiters.get(record.id);
    if (!same) return;
    for (const waiter of [...same]) {
      if (record.version < waiter.version) continue;
      waiter.version = record.version;
      if (record.state === "pending") continue;
      this.#leave(waiter);
      waiter.done(record);
    }
  }

  /** Reads one record, in turn with others. */
  #read(waiter: Waiter): void {
    if (this.#reading >= AT_ONCE) {
      this.#reads.add(waiter);
      return;
    }
    this.#reading += 1;
    void this.#readNow(waiter).finally(() => {
      this.#reading -= 1;
      for (const next of this.#reads) {
        this.#reads.delete(next);
        this.#read(next);
        break;
      }
    });
  }

  async #readNow(waiter: Waiter): Promise<void> {
    while (this.#waiters.get(waiter.id)?.has(waiter)) {
      try {
        this.#saw(await this.#look(waiter.id));
        return;
      } catch (error) {
        if (!(error instanceof RetryableError)) return this.#end(waiter, error);
        // A stream that is gone reads everything again when it is back.
        if (!this.#connected) return;
        await sleep(200 + Math.random() * 300);
      }
    }
  }

  /** One read of one id. Only errors that may pass are thrown. */
  async #poll(id: string, wait: number | undefined, signal: AbortSignal): Promise<void> {
    try {
      const record = await this.#look(id, wait, signal);
      this.#back();
      this.#saw(record);
    } catch (error) {
      if (error instanceof RetryableError || signal.aborted) throw error;
      for (const waiter of [...(this.#waiters.get(id) ?? [])]) this.#end(waiter, error);
    }
  }

  async #look(id: string, wait?: number, signal?: AbortSignal): Promise<RequestRecord> {
    const path = `/v1/requests/${encodeURIComponent(id)}`;
    const record = await this.http.attempt<RequestRecord>({ method: "GET", path, wait }, signal);
    if (!isRecord(record)) throw new RetryableError(`the answer about ${id} is not a request`);
    ofRequest(record, id);
    return record;
  }

  /** Pauses after a failure. Waits whose outage budget is spent are rejected. */
  async #pause(failure: RetryableError, signal: AbortSignal): Promise<void> {
    const pause = this.#outage.pause(Number.POSITIVE_INFINITY, failure.after) as number;
    const lasts = this.#outage.lasted() + pause;
    this.#fail(
      this.http.spent(failure),
      (waiter) => lasts > (waiter.budget ?? this.http.settings.outageBudget),
    );
    // A single stream that ends is no outage, because proxies cut streams off.
    for (const waiter of this.#failures < PATIENCE ? [] : this.#all()) {
      if (!waiter.away) waiter.told?.("outage");
      waiter.away = true;
    }
    if (this.#waiters.size > 0) await sleep(pause, signal).catch(() => {});
  }

  #fail(error: unknown, which: (waiter: Waiter) => boolean = () => true): void {
    for (const waiter of this.#all()) if (which(waiter)) this.#end(waiter, error);
  }

  #end(waiter: Waiter, error: unknown): void {
    this.#leave(waiter);
    waiter.failed(error);
  }
}
