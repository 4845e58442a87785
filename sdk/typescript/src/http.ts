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
export interface OutgoingCall {
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

export interface SendOptions {
  signal?: AbortSignal;
  /** Milliseconds of outage to bear; the client's own unless given. */
  budget?: number;
}

/** A failed attempt that did not decide the call: it may be sent again. */
export class RetryableError extends PlacetError {
  override name = "RetryableError";
  constructor(
    reason: string,
    /** Milliseconds to wait, as the server asked (`Retry-After`). */
    readonly after = 0,
    /** What to throw when the budget is spent and this was the last attempt. */
    readonly last?: PlacetError,
  ) {
    super(reason);
  }
}

/** Milliseconds an attempt gets, however little of the budget is left. */
const LEAST = 500;

export interface HttpSettings {
  url: string;
  token: string;
  fetch: typeof globalThis.fetch;
  timeout: number;
  outageBudget: number;
}

export class Http {
  /** The server's clock, and the local time at which it was read. */
  #clock: { server: number; here: number } | undefined;

  constructor(readonly settings: HttpSettings) {}

  /** Milliseconds by the server's clock, to a second; by the local clock until the server has answered. */
  now(): number {
    return this.#clock ? this.#clock.server + performance.now() - this.#clock.here : Date.now();
  }

  /** Sends until the call is answered or the budget is spent. Returns the server's JSON. */
  async send<T>(
    call: OutgoingCall,
    { signal, budget = this.settings.outageBudget }: SendOptions = {},
  ): Promise<T> {
    const outage = new Outage();
    let within: number | undefined;
    for (;;) {
      const began = performance.now();
      try {
        return await this.attempt<T>(call, signal, within);
      } catch (failure) {
        if (!(failure instanceof RetryableError)) throw failure;
        // Counted from the start of the attempt, without the time that the server was asked to hold it.
        outage.since(Math.min(performance.now(), began + (call.wait ?? 0)));
        const pause = outage.pause(budget, failure.after);
        if (pause === undefined) throw this.spent(failure);
        await sleep(pause, signal);
        if (call.wait === undefined) within = Math.max(LEAST, budget - outage.lasted());
      }
    }
  }

  /** The error for a budget that is spent. */
  spent(failure: RetryableError): PlacetError {
    if (failure.last) return failure.last;
    return new Unreachable(`Placet at ${this.settings.url} cannot be reached: ${failure.message}`);
  }

  /** One attempt: an answer, `RetryableError`, or an error that trying again does not help. */
  async attempt<T>(call: OutgoingCall, signal?: AbortSignal, within?: number): Promise<T> {
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

  async #exchange(call: OutgoingCall, signal: AbortSignal | undefined, most = Number.POSITIVE_INFINITY) {
    const within = Math.min(this.settings.timeout + (call.wait ?? 0), most);
    const { controller, done } = linked(signal, within);
    try {
      // A custom `fetch` may ignore the signal.
      return await orAborted(this.#answer(call, controller.signal), controller.signal);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof WrongAnswer) {
        controller.abort();
        throw error;
      }
      if (controller.signal.aborted)
        throw new RetryableError(`no whole answer within ${Math.round(within)} ms`);
      throw new RetryableError(reason(error));
    } finally {
      done();
    }
  }

  async #answer(call: OutgoingCall, signal: AbortSignal): Promise<HttpAnswer> {
    const response = await this.settings.fetch(this.address(call), {
      method: call.method,
      headers: this.headers(call),
      body: call.body === undefined ? null : JSON.stringify(call.body),
      // A redirect could carry the arguments, and perhaps the key, to another server.
      redirect: "manual",
      signal,
    });
    const bytes = await bytesOf(response, call.largest ?? ANSWER);
    const { status, headers } = response;
    const server = Date.parse(headers.get("date") ?? "");
    if (Number.isFinite(server)) this.#clock = { server, here: performance.now() };
    return { status, bytes, type: headers.get("content-type") ?? "", after: headers.get("retry-after") };
  }

  address(call: OutgoingCall): string {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) query.set(name, value);
    }
    if (call.wait !== undefined) query.set("wait", written(call.wait));
    const text = query.toString();
    return `${this.settings.url}${call.path}${text === "" ? "" : `?${text}`}`;
  }

  headers(call: OutgoingCall): Headers {
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

  #refusal(call: OutgoingCall, answer: HttpAnswer, body: unknown, kind: string): PlacetError {
    const { status } = answer;
    const document = body as
      | { code?: unknown; detail?: unknown; pointer?: unknown; record?: unknown }
      | undefined;
    const after = retryAfter(answer.after);
    const transient = status >= 500 || status === 408 || status === 429;
    if (kind !== "application/problem+json" || typeof document?.code !== "string") {
      if (transient)
        return new RetryableError(`it answered ${status} ${kind || "without a content type"}`, after);
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
    // The pending cap is not an outage, so the last attempt throws the problem itself.
    if (transient)
      return new RetryableError(detail, after, document.code === "pending_cap" ? problem : undefined);
    if (status === 401) {
      return new ConfigError(
        `${this.settings.url} does not accept the key: ${detail}. Set PLACET_TOKEN to a key made with \`placet key new\`.`,
      );
    }
    return problem;
  }

  /** An answer that is not from Placet. A proxy may be starting up, so 2xx and 3xx are retried first. */
  #foreign(call: OutgoingCall, answer: HttpAnswer, what: string): PlacetError {
    const shown = new TextDecoder().decode(answer.bytes.slice(0, 60)).replaceAll(/\s+/g, " ").trim();
    const error = new ProtocolError(
      `${this.settings.url}${call.path} is not a Placet server of this version: it answered ${answer.status} (${what})` +
        `${shown === "" ? "" : ` beginning with ${JSON.stringify(shown)}`}. Check PLACET_URL.`,
    );
    if (answer.status >= 400 && answer.status < 500) return error;
    error.outage = true;
    return new RetryableError(error.message, 0, error);
  }
}

interface HttpAnswer {
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
