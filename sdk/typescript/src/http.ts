/** One call: send it, tell a refusal from an outage, and try again where that is safe. */
import { isRecord } from "./answer.js";
import { ANSWER, bytesOf } from "./body.js";
import { written } from "./duration.js";
import { ConfigError, PlacetError, Problem, ProtocolError, Unreachable, WrongAnswer } from "./errors.js";
import { located } from "./notice.js";
import { Outage, orAborted, sleep } from "./retry.js";
import { readAnswer } from "./strict.js";
import type { RequestRecord } from "./wire.js";

/** One call, ready to be sent any number of times: it is a read, or it carries an idempotency key. */
export interface Outgoing {
  method: "GET" | "POST" | "PUT";
  path: string;
  query?: { [name: string]: string | undefined };
  body?: unknown;
  headers?: { [name: string]: string | undefined };
  /** Milliseconds the server is asked to hold the call. */
  wait?: number;
  /** How many bytes the answer may have. */
  largest?: number;
}

export interface Sending {
  signal?: AbortSignal;
  /** Milliseconds of outage to bear; the client's own unless given. */
  budget?: number;
}

/** An attempt that says nothing about the call: it may be sent again. */
export class Again extends PlacetError {
  override name = "Again";
  constructor(
    reason: string,
    /** Milliseconds the server asks to be left alone. */
    readonly after = 0,
    /** What to throw when the budget is spent and this was the last attempt. */
    readonly last?: PlacetError,
  ) {
    super(reason);
  }
}

/** Milliseconds an attempt gets, however little of the budget is left. */
const LEAST = 500;

export interface Settings {
  url: string;
  token: string;
  fetch: typeof globalThis.fetch;
  timeout: number;
  outageBudget: number;
}

export class Http {
  /** What the server's clock said, and when that was here. */
  #clock: { server: number; here: number } | undefined;

  constructor(readonly settings: Settings) {}

  /** Milliseconds by the server's clock, to a second; by ours as long as the server has not said. */
  now(): number {
    return this.#clock ? this.#clock.server + performance.now() - this.#clock.here : Date.now();
  }

  /** Sends until it is answered or the budget is spent. What comes back is JSON of ours. */
  async send<T>(call: Outgoing, { signal, budget = this.settings.outageBudget }: Sending = {}): Promise<T> {
    const outage = new Outage();
    let within: number | undefined;
    for (;;) {
      const began = performance.now();
      try {
        return await this.attempt<T>(call, signal, within);
      } catch (failure) {
        if (!(failure instanceof Again)) throw failure;
        // Counted from where the attempt began, without what the server was asked to hold it.
        outage.since(Math.min(performance.now(), began + (call.wait ?? 0)));
        const pause = outage.pause(budget, failure.after);
        if (pause === undefined) throw this.spent(failure);
        await sleep(pause, signal);
        if (call.wait === undefined) within = Math.max(LEAST, budget - outage.lasted());
      }
    }
  }

  /** The error for a budget that is spent. */
  spent(failure: Again): PlacetError {
    if (failure.last) return failure.last;
    return new Unreachable(`Placet at ${this.settings.url} cannot be reached: ${failure.message}`);
  }

  /** One attempt: an answer, `Again`, or an error that trying again does not help. */
  async attempt<T>(call: Outgoing, signal?: AbortSignal, within?: number): Promise<T> {
    const answer = await this.#exchange(call, signal, within);
    const kind = answer.type.split(";")[0]?.trim() ?? "";
    let body: unknown;
    if (kind === "application/json" || kind === "application/problem+json") {
      try {
        body = readAnswer(answer.bytes, call.largest ?? ANSWER);
      } catch (error) {
        throw this.#foreign(call, answer, `JSON that does not parse: ${(error as Error).message}`);
      }
    }
    if (answer.status >= 200 && answer.status < 300) {
      if (typeof body !== "object" || body === null || Array.isArray(body))
        throw this.#foreign(call, answer, kind || "no content type");
      return (isRecord(body) ? located(body, this.settings.url) : body) as T;
    }
    throw this.#refusal(call, answer, body, kind);
  }

  async #exchange(call: Outgoing, signal: AbortSignal | undefined, most = Number.POSITIVE_INFINITY) {
    const within = Math.min(this.settings.timeout + (call.wait ?? 0), most);
    const { controller, done } = linked(signal, within);
    try {
      // A `fetch` of somebody else may not listen to the signal.
      return await orAborted(this.#answer(call, controller.signal), controller.signal);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof WrongAnswer) {
        controller.abort();
        throw error;
      }
      if (controller.signal.aborted) throw new Again(`no whole answer within ${Math.round(within)} ms`);
      throw new Again(reason(error));
    } finally {
      done();
    }
  }

  async #answer(call: Outgoing, signal: AbortSignal): Promise<Answer> {
    const response = await this.settings.fetch(this.address(call), {
      method: call.method,
      headers: this.headers(call),
      body: call.body === undefined ? null : JSON.stringify(call.body),
      // A redirect would carry the arguments, and perhaps the key, to somebody else.
      redirect: "manual",
      signal,
    });
    const bytes = await bytesOf(response, call.largest ?? ANSWER);
    const { status, headers } = response;
    const server = Date.parse(headers.get("date") ?? "");
    if (Number.isFinite(server)) this.#clock = { server, here: performance.now() };
    return { status, bytes, type: headers.get("content-type") ?? "", after: headers.get("retry-after") };
  }

  address(call: Outgoing): string {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) query.set(name, value);
    }
    if (call.wait !== undefined) query.set("wait", written(call.wait));
    const text = query.toString();
    return `${this.settings.url}${call.path}${text === "" ? "" : `?${text}`}`;
  }

  headers(call: Outgoing): Headers {
    const headers = new Headers({
      authorization: `Bearer ${this.settings.token}`,
      accept: "application/json",
    });
    if (call.body !== undefined) headers.set("content-type", "application/json");
    for (const [name, value] of Object.entries(call.headers ?? {})) {
      if (value !== undefined) headers.set(name, value);
    }
    return headers;
  }

  #refusal(call: Outgoing, answer: Answer, body: unknown, kind: string): PlacetError {
    const { status } = answer;
    const document = body as
      | { code?: unknown; detail?: unknown; pointer?: unknown; record?: unknown }
      | undefined;
    const after = retryAfter(answer.after);
    const transient = status >= 500 || status === 408 || status === 429;
    if (kind !== "application/problem+json" || typeof document?.code !== "string") {
      if (transient) return new Again(`it answered ${status} ${kind || "without a content type"}`, after);
      return this.#foreign(call, answer, kind || "no content type");
    }
    const detail = typeof document.detail === "string" ? document.detail : document.code;
    const problem = new Problem(
      status,
      document.code,
      detail,
      typeof document.pointer === "string" ? document.pointer : undefined,
      isRecord(document.record) ? located(document.record as RequestRecord, this.settings.url) : undefined,
      after,
    );
    // Too many of one's own requests is not an outage: whoever waits it out in vain is told what it was.
    if (transient) return new Again(detail, after, document.code === "pending_cap" ? problem : undefined);
    if (status === 401) {
      return new ConfigError(
        `${this.settings.url} does not accept the key: ${detail}. Set PLACET_TOKEN to a key made with \`placet key new\`.`,
      );
    }
    return problem;
  }

  /** An answer that no Placet gives. A proxy may be starting up behind it, so 2xx and 3xx are tried again first. */
  #foreign(call: Outgoing, answer: Answer, what: string): PlacetError {
    const shown = new TextDecoder().decode(answer.bytes.slice(0, 60)).replaceAll(/\s+/g, " ").trim();
    const error = new ProtocolError(
      `${this.settings.url}${call.path} is not a Placet server of this version: it answered ${answer.status} (${what})` +
        `${shown === "" ? "" : ` beginning with ${JSON.stringify(shown)}`}. Check PLACET_URL.`,
    );
    if (answer.status >= 400 && answer.status < 500) return error;
    error.outage = true;
    return new Again(error.message, 0, error);
  }
}

interface Answer {
  status: number;
  bytes: Uint8Array;
  type: string;
  after: string | null;
}

/** A controller that ends after `ms` or with the caller's signal. `done` must be called. */
function linked(signal: AbortSignal | undefined, ms: number) {
  const controller = new AbortController();
  const stop = () => controller.abort();
  const timer = setTimeout(stop, ms);
  if (signal?.aborted) stop();
  else signal?.addEventListener("abort", stop, { once: true });
  const done = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  };
  return { controller, done };
}

/** Seconds, or a date, as milliseconds from now; at most a minute, so that a broken proxy cannot park a caller. */
function retryAfter(text: string | null): number {
  if (text === null) return 0;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000;
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), 60) * 1_000 : 0;
}

/** `fetch failed` says nothing; its cause does. */
function reason(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error && cause.message !== "") return cause.message;
  const code = (cause as { code?: unknown } | undefined)?.code;
  if (typeof code === "string") return code;
  return error instanceof Error ? error.message : String(error);
}
