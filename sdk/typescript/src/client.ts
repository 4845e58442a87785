/** The client: single calls to the server, and the whole way from a call to its outcome. */
import { isObject, isRecord, ofRequest } from "./answer.js";
import { PAGE } from "./body.js";
import { type Call, prepareRequest } from "./call.js";
import type { CoverageReport } from "./coverage/tell.js";
import { type Duration, milliseconds } from "./duration.js";
import { ConfigError, ProtocolError } from "./errors.js";
import { events } from "./events.js";
import { type GateOptions, gate } from "./gate.js";
import type { Held, Refusal } from "./held.js";
import { type HoldOptions, PendingCall } from "./hold.js";
import { Http } from "./http.js";
import { canonical } from "./json.js";
import * as keys from "./keys.js";
import { ASK, CONFIRM, CREATE, HOLD, PLACET, PLAN, RUN } from "./names.js";
import { located, Notices, type OnWaiting } from "./notice.js";
import { checkListener, checkOptions, checkWord, OUTAGES, REFUSALS, REPORTS } from "./options.js";
import { type Asked, type Confirmation, confirmation, input, type Plan, plan } from "./questions.js";
import { type ReportMode, Reports } from "./reports.js";
import { env } from "./runtime.js";
import { Counter, currentSession, type Session } from "./session.js";
import type { SseEvent } from "./sse.js";
import { listen } from "./stream.js";
import { WaitingRoom } from "./wait.js";
import type {
  Claimed,
  CreateBody,
  DecisionWord,
  Json,
  JsonObject,
  RequestRecord,
  Step,
  StepDecision,
  StreamEvent,
} from "./wire.js";

/** What an outage longer than the budget means. None of these is an approval. */
export type OnOutage = "deny" | "raise" | "pause";

export interface PlacetOptions {
  /** `PLACET_URL`, or http://127.0.0.1:4000. */
  url?: string;
  /** The agent's key; `PLACET_TOKEN` unless given. */
  token?: string;
  /** For one attempt; 5 s. */
  timeout?: Duration;
  /** How long to try again before an outage counts as one; 30 s. */
  outageBudget?: Duration;
  onOutage?: OnOutage;
  /** Names this program in the session of calls that have none. */
  name?: string;
  /** Another `fetch`: `placet/testing`, a proxy, a runtime without a global one. */
  fetch?: typeof globalThis.fetch;
  /** Called when a call ran and its outcome could not be reported. Without it, a warning is printed. */
  onUnreported?: (held: Held, error: Error) => void;
  /**
   * Called when a call waits for a person, when the server is away meanwhile and when it is back. Without it, programs with
   * a terminal print a line; `null` prints none.
   */
  onWaiting?: OnWaiting | null;
  /**
   * `wait` (unless set) returns a result when its outcome is on record. `background` returns it at once, and sends the report
   * meanwhile: `flush` before `process.exit`.
   */
  report?: ReportMode;
}

export interface CreateOptions {
  key?: string;
  weakKey?: string;
  /** Hold the call until it is decided, at most this long. */
  wait?: Duration;
  /** Claim in the same call if it is approved by then. */
  claim?: boolean;
  claimant?: string;
  signal?: AbortSignal;
  /** Milliseconds of outage to bear in this call. */
  budget?: number;
}

export interface RunOptions extends HoldOptions {
  /** A refusal is returned as a structured result for the model, or thrown. */
  onDenied?: "return" | "raise";
}

export class Placet {
  readonly url: string;
  readonly onOutage: OnOutage;
  readonly outageBudget: number;
  /** The session of calls without one. It is new for every client, so no later call finds its requests. */
  readonly anonymous: string;
  /** @internal */
  readonly waiting: WaitingRoom;
  /** @internal */
  readonly notices: Notices;
  /** @internal */
  readonly reports: Reports;
  readonly #http: Http;
  readonly #counter = new Counter();
  readonly #onUnreported: (held: Held, error: Error) => void;

  constructor(options: PlacetOptions = {}) {
    checkOptions("new Placet()", options, PLACET);
    checkWord("onOutage", options.onOutage, OUTAGES);
    checkListener("onWaiting", options.onWaiting);
    checkWord("report", options.report, REPORTS);
    const { token = env("PLACET_TOKEN"), onOutage = "deny", name } = options;
    this.url = address(options.url ?? env("PLACET_URL") ?? "http://127.0.0.1:4000");
    if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token)) {
      throw new ConfigError(
        "no key: set PLACET_TOKEN, or pass `token`, to what `placet key new --role agent` printed",
      );
    }
    const fetch = options.fetch ?? globalThis.fetch;
    if (typeof fetch !== "function") throw new ConfigError("this runtime has no fetch: pass one as `fetch`");
    this.onOutage = onOutage;
    this.outageBudget = milliseconds(options.outageBudget ?? 30_000, "outageBudget");
    this.anonymous = `${(name ?? "placet").slice(0, 40)}-${keys.claimant().slice(0, 16)}`;
    this.#onUnreported = options.onUnreported ?? warn;
    this.#http = new Http({
      url: this.url,
      token,
      // Called without `this`: browsers insist.
      fetch: (input, init) => fetch(input, init),
      timeout: milliseconds(options.timeout ?? 5_000, "timeout"),
      outageBudget: this.outageBudget,
    });
    this.waiting = new WaitingRoom(this.#http);
    this.reports = new Reports(options.report ?? "wait");
    this.notices = new Notices(options.onWaiting, () => this.#http.now());
  }

  /** Asks, waits, claims. Nothing is run: look at `go`. */
  async hold(call: Call, options: HoldOptions = {}): Promise<Held> {
    checkOptions("hold", options, HOLD);
    return new PendingCall(this, prepareRequest(this, call, around(options)), options).hold();
  }

  /** Asks, waits, claims, runs the function once with the approved arguments, and reports. */
  async run<T>(
    call: Call,
    fn: (args: JsonObject) => T | PromiseLike<T>,
    options: RunOptions = {},
  ): Promise<T | Refusal> {
    checkOptions("run", options, RUN);
    checkWord("onDenied", options.onDenied, REFUSALS);
    const { onDenied, ...rest } = options;
    const held = await this.hold(call, rest);
    if (held.go) return held.run(fn);
    if (onDenied === "raise") held.raiseForRefusal();
    return held.result();
  }

  /** The same function, which runs only after an approval. See `gate`. */
  gate<A extends unknown[], R>(
    fn: (...args: A) => R,
    options: Omit<GateOptions<A>, "client"> & { onDenied: "raise" },
  ): (...args: A) => Promise<Awaited<R>>;
  gate<A extends unknown[], R>(
    fn: (...args: A) => R,
    options?: Omit<GateOptions<A>, "client">,
  ): (...args: A) => Promise<Awaited<R> | Refusal>;
  gate<A extends unknown[], R>(
    fn: (...args: A) => R,
    options: Omit<GateOptions<A>, "client"> = {},
  ): (...args: A) => Promise<Awaited<R> | Refusal> {
    return gate(fn, { ...options, client: this });
  }

  /** Asks for a yes or no. `go` is the yes; there is nothing to run or to report. */
  async confirm(message: string, options: Confirmation & HoldOptions = {}): Promise<Held> {
    checkOptions("confirm", options, CONFIRM);
    return new PendingCall(this, confirmation(this, around(options), message, options), options).hold();
  }

  /** Asks a question. `answer` is the answer when `status` is `answered`. */
  async ask(question: string, options: Asked & HoldOptions = {}): Promise<Held> {
    checkOptions("ask", options, ASK);
    return new PendingCall(this, input(this, around(options), question, options), options).hold();
  }

  /** Proposes a plan. With `go`, `steps` are the steps to take, in the order approved. */
  async propose(title: string, steps: readonly Step[], options: Plan & HoldOptions = {}): Promise<Held> {
    checkOptions("propose", options, PLAN);
    return new PendingCall(this, plan(this, around(options), title, steps, options), options).hold();
  }

  /** Makes a request; the same key gives the same one. */
  async create(body: CreateBody, options: CreateOptions = {}): Promise<RequestRecord> {
    checkOptions("create", options, CREATE);
    const { key = keys.random(), weakKey, claim, claimant, signal, budget } = options;
    const wait = options.wait === undefined ? undefined : milliseconds(options.wait, "wait");
    const headers = { "idempotency-key": key, "placet-weak-key": weakKey, "placet-claimant": claimant };
    const query = { claim: claim ? "true" : undefined };
    return this.#record(
      { method: "POST", path: "/v1/requests", query, body, headers, wait },
      { signal, budget },
    );
  }

  /** Reports the coverage of an agent. Adapters do this when the agent starts. */
  async reportCoverage(report: CoverageReport): Promise<void> {
    await this.#http.send({ method: "PUT", path: "/v1/coverage", body: report });
  }

  /** The request as it stands; with `wait`, when it is no longer pending or no longer of that version. */
  async get(
    id: string,
    options: { wait?: Duration; version?: number; signal?: AbortSignal } = {},
  ): Promise<RequestRecord> {
    checkOptions("get", options, { wait: true, version: true, signal: true });
    const wait = options.wait === undefined ? undefined : milliseconds(options.wait, "wait");
    const query = { version: options.version?.toString() };
    const call = { method: "GET", path: path(id), query, wait } as const;
    return this.#about(id, call, { signal: options.signal });
  }

  /** The request once it is not pending any more; as it stands when `timeout` is over. */
  async wait(id: string, options: { timeout?: Duration; signal?: AbortSignal } = {}): Promise<RequestRecord> {
    checkOptions("wait", options, { timeout: true, signal: true });
    const { timeout, signal } = options;
    if (timeout === undefined) return this.waiting.wait(id, { signal });
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(over), milliseconds(timeout, "timeout"));
    const stop = () => over.abort(signal?.reason);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      signal?.throwIfAborted();
      return await this.waiting.wait(id, { signal: over.signal });
    } catch (error) {
      if (error !== over) throw error;
      return this.get(id, { signal });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }

  /** Claims the permit. The same claimant gets it again; others are refused. */
  async claim(
    id: string,
    claimant: string,
    options: { signal?: AbortSignal; budget?: number } = {},
  ): Promise<Claimed> {
    const claimed = await this.#http.send<Claimed>(
      { method: "POST", path: `${path(id)}/claim`, body: { claimant } },
      options,
    );
    const { permit, digest, arguments: args } = claimed;
    if (typeof permit !== "string" || permit === "" || typeof digest !== "string" || !isObject(args)) {
      throw new ProtocolError(`${this.url} answered a claim without a permit, digest or arguments`);
    }
    return claimed;
  }

  /** Reports the outcome of the run. Repeating the same report is harmless. */
  async report(
    id: string,
    outcome: { permit: string; status: "succeeded" | "failed"; resultDigest?: string; note?: string },
    options: { signal?: AbortSignal } = {},
  ): Promise<RequestRecord> {
    checkOptions("report", outcome, { permit: true, status: true, resultDigest: true, note: true });
    const { permit, status, resultDigest, note } = outcome;
    const body = {
      permit,
      status,
      ...(resultDigest === undefined ? {} : { result_digest: resultDigest }),
      ...(note === undefined ? {} : { note }),
    };
    return this.#post(id, "outcome", body, options.signal);
  }

  /** Resolves when every report that was left to the background has been sent, or given up. */
  flush(): Promise<void> {
    return this.reports.flush();
  }

  /** Withdraws a request that is pending, or approved and not claimed. */
  async cancel(id: string, reason?: string, options: { signal?: AbortSignal } = {}): Promise<RequestRecord> {
    return this.#post(id, "cancel", reason === undefined ? {} : { reason }, options.signal);
  }

  /** For people and tests: decides on what was seen, by digest and version. */
  async decide(
    id: string,
    decision: DecisionWord,
    seen: {
      digest: string;
      version: number;
      reason?: string;
      arguments?: JsonObject;
      answer?: Json;
      steps?: StepDecision[];
    },
  ): Promise<RequestRecord> {
    return this.#post(id, "decision", { decision, ...seen });
  }

  /** For people and tests: requests, newest first; `state: "pending"` by nearest deadline. */
  async list(query: { [name: string]: string | undefined } = {}): Promise<{
    items: RequestRecord[];
    next_cursor?: string | null;
    event_id?: string;
  }> {
    const page = await this.#http.send<{ items: RequestRecord[] }>({
      method: "GET",
      path: "/v1/requests",
      query,
      largest: PAGE,
    });
    if (!Array.isArray(page.items)) throw new ProtocolError(`${this.url} answered a list without items`);
    for (const each of page.items) if (isRecord(each)) located(each, this.url);
    return page;
  }

  /** Every change of the requests this key may see, across reconnects, until the signal or `break` ends it. */
  stream(options: { after?: string; signal?: AbortSignal } = {}): AsyncGenerator<StreamEvent, void> {
    checkOptions("stream", options, { after: true, signal: true });
    return events(this.#http, options);
  }

  /** @internal One connection of the stream, from now on. Ends by throwing. */
  hear(signal: AbortSignal, opened: () => void, heard: (event: SseEvent) => void): Promise<never> {
    return listen(this.#http, undefined, signal, opened, heard);
  }

  /** @internal How often this call was made before in its session. */
  ordinal(around: Session | undefined, id: string, tool: string, args: JsonObject): number {
    if (around?.id === id) return around.ordinal(tool, args);
    return this.#counter.next(canonical([id, tool, args]));
  }

  /** @internal */
  unreported(held: Held, error: Error): void {
    try {
      this.#onUnreported(held, error);
    } catch {
      // The call ran. An error here would look as if it had not.
    }
  }

  #post(id: string, verb: string, body: unknown, signal?: AbortSignal): Promise<RequestRecord> {
    const headers = { "idempotency-key": keys.random() };
    return this.#about(id, { method: "POST", path: `${path(id)}/${verb}`, body, headers }, { signal });
  }

  /** The record of this very request. */
  async #about(id: string, ...sending: Parameters<Http["send"]>): Promise<RequestRecord> {
    const record = await this.#record(...sending);
    ofRequest(record, id);
    return record;
  }

  async #record(...[call, sending]: Parameters<Http["send"]>): Promise<RequestRecord> {
    const record = await this.#http.send<RequestRecord>(call, sending);
    if (!isRecord(record)) {
      throw new ProtocolError(
        `${this.url}${call.path} answered something that is not a request: check PLACET_URL`,
      );
    }
    return record;
  }
}

let shared: Placet | undefined;

/** The default client of this process, configured by the environment. */
export function defaultClient(): Placet {
  shared ??= new Placet();
  return shared;
}

/** The session that was given, or the one around the caller. */
function around(options: HoldOptions): Session | undefined {
  return options.in ?? currentSession();
}

function path(id: string): string {
  return `/v1/requests/${encodeURIComponent(id)}`;
}

function address(text: string): string {
  const wrong = () =>
    new ConfigError(`the address of Placet must begin with http:// or https://, not ${JSON.stringify(text)}`);
  if (!/^https?:\/\//.test(text)) throw wrong();
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw wrong();
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new ConfigError(
      "the address of Placet must have no user, query or fragment: the key goes into `token`",
    );
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

function warn(held: Held, error: Error): void {
  console.warn(`placet: ${held.requestId} ran, but its outcome could not be reported: ${error.message}`);
}
