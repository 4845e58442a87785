/** What the adapters share: from a framework's tool call to a ruling, and never an error that means yes. */
import { type Call, ownerParts, prepareRequest } from "../call.js";
import type { EditCheck } from "../check.js";
import { Placet } from "../client.js";
import type { Coverage } from "../coverage/report.js";
import { CoverageReporter } from "../coverage/tell.js";
import { ConfigError, Problem, Refused } from "../errors.js";
import type { Held, Refusal } from "../held.js";
import * as keys from "../keys.js";
import { currentSession, Session } from "../session.js";
import type { Json, JsonObject, RequestRecord } from "../wire.js";
import { type AdapterOptions, checkAdapter, refuseUncovered, ToolFilter } from "./options.js";

export type { AdapterOptions } from "./options.js";

/** A tool call as an adapter found it. */
export interface ToolCall {
  tool: string;
  arguments: unknown;
  /** The framework's own id of the call, the same when a run is resumed. */
  callId: string | undefined;
  /** What the framework calls a conversation; the session of the options comes first. */
  session?: string | undefined;
  /** Whose conversation it is, where the framework says so; the session around the call comes first. */
  user?: string | undefined;
  context?: JsonObject;
  /** JSON Schema for the server, and the check of the tool itself. */
  schema?: JsonObject | undefined;
  check?: EditCheck | undefined;
  signal?: AbortSignal | undefined;
}

/** May it run? `result` is what the model is told when not. */
export type Ruling =
  | { go: true; held: Held }
  | { go: false; pending: boolean; answered: boolean; result: Refusal; held?: Held };

/** How many calls are remembered for their weak keys; the oldest is forgotten first. */
const REMEMBERED = 10_000;
/** States that are a no for good. Everything else is left to the claim. */
const NO = ["denied", "expired", "cancelled", "revoked", "lapsed"];

const UNNAMED = 'mode "pause" needs a session: without its name a resumed run does not find its requests';

export class Gate {
  readonly client: Placet;
  readonly mode: "block" | "pause";
  readonly only: ToolFilter;
  readonly #framework: string;
  readonly #reporter: CoverageReporter;
  readonly #options: AdapterOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #weak = new Map<string, string>();
  /** Tools whose schema the server did not take. */
  readonly #bare = new Set<string>();
  /** Requests whose permit somebody claimed who is gone. */
  readonly #abandoned = new Set<string>();
  /** For programs that name no session: one of their own, which no restart finds again. */
  readonly #anonymous: string;

  /** `own` are the options that only this adapter has. */
  constructor(framework: string, options: AdapterOptions, own: Record<string, true> = {}) {
    checkAdapter(options, own);
    this.only = new ToolFilter(options.only);
    this.#framework = framework;
    this.#options = options;
    this.mode = options.mode ?? "block";
    this.client = options.client ?? new Placet();
    this.#reporter = new CoverageReporter(this.client);
    this.#anonymous = `${framework}-${keys.random().slice(0, 16)}`;
    if (options.session !== undefined) this.#session(options.session);
  }

  /** For frameworks that have no name for a conversation: says at once that one must be given, to be able to pause. */
  named(): this {
    const known = this.#options.session ?? currentSession();
    if (this.mode === "pause" && known === undefined) throw new ConfigError(UNNAMED);
    return this;
  }

  /** The session of all calls, where the options name one. */
  get session(): string | undefined {
    return this.#options.session;
  }

  /** Does something in the knowledge that whoever claimed one of these requests is gone. */
  async abandoning<T>(requests: readonly string[], work: () => Promise<T>): Promise<T> {
    for (const each of requests) this.#abandoned.add(each);
    try {
      return await work();
    } finally {
      for (const each of requests) this.#abandoned.delete(each);
    }
  }

  /** Whether calls of this tool are held. */
  holds(tool: string): boolean {
    return this.only.holds(tool);
  }

  /** Refuses an agent with tools that cannot be held, unless the options allow it; and tells the server of the others. */
  covers(found: Coverage, advice: string): void {
    refuseUncovered(found, this.#options, advice);
    this.#reporter.tell(found);
  }

  /**
   * Asks, waits, claims. Throws only if the caller is gone, or if that is what the options ask for. With `pausable` the
   * request stays open when nobody has decided in time, and the ruling says `pending`.
   */
  async rule(call: ToolCall, pausable = false): Promise<Ruling> {
    let held: Held;
    try {
      const { onWaiting } = this.#options;
      const holdFor = this.#options.holdFor ?? (pausable ? 0 : undefined);
      const then = pausable ? "leave" : "cancel";
      held = await this.#put(call, (expressed, session) =>
        this.client.hold(expressed, { in: session, signal: call.signal, holdFor, then, onWaiting }),
      );
    } catch (error) {
      if (call.signal?.aborted) throw error;
      return this.#refuse(call, error);
    }
    if (held.go) return { go: true, held };
    const pending = held.status === "pending" || (pausable && this.#elsewhere(held));
    if (this.#options.onDenied === "raise" && !pending) held.raiseForRefusal();
    return { go: false, pending, answered: held.status === "answered", result: held.result(), held };
  }

  /** Asks, and does not wait: the request as it stands. Asking again with the same call id is the same request. */
  async ask(call: ToolCall): Promise<RequestRecord> {
    const record = await this.#put(call, (expressed, session) => {
      const { strong, weak } = expressed.keys ?? {};
      return this.client.create(prepareRequest(this.client, expressed, session).body, {
        key: strong,
        weakKey: weak,
      });
    });
    this.client.notices.once(this.#options.onWaiting, call.tool, record);
    return record;
  }

  /** Whether nobody has decided yet. An error is no reason to pause: the call itself will meet it again, and say so. */
  async pending(call: ToolCall): Promise<RequestRecord | undefined> {
    try {
      const record = await this.ask(call);
      return record.state === "pending" ? record : undefined;
    } catch (error) {
      this.#tell(error);
      return undefined;
    }
  }

  /** Runs it with what was approved, reports, and adds to the result what an edit changed. */
  async run<T>(held: Held, fn: (args: JsonObject) => T | PromiseLike<T>): Promise<T> {
    try {
      return withNote(await held.run(fn), held) as T;
    } catch (error) {
      throw annotated(error, held);
    }
  }

  /** Whether another process runs the call now: its outcome will be known, so a run that can pause does not guess it. */
  #elsewhere(held: Held): boolean {
    const { status, record } = held;
    return status === "unknown" && record?.state === "claimed" && !this.#abandoned.has(record.id);
  }

  /** An error of ours, as a refusal. */
  #refuse(call: ToolCall, error: unknown): Ruling {
    this.#tell(error);
    if (this.#options.onDenied === "raise") throw error;
    // Asked for by the client's `onOutage: "raise"`.
    if (error instanceof Refused && this.client.onOutage === "raise") throw error;
    return { go: false, pending: false, answered: false, result: mishap(call.tool, error) };
  }

  /** A schema that the server does not take must not keep the call from being asked: edits are then checked here alone. */
  async #put<T>(call: ToolCall, send: (expressed: Call, session: Session) => Promise<T>): Promise<T> {
    const { expressed, session } = await this.#express(call);
    await this.#reporter.told();
    try {
      return await send(expressed, session);
    } catch (error) {
      const refused = error instanceof Problem && error.pointer?.startsWith("/arguments_schema");
      if (!refused || expressed.argumentsSchema === undefined) throw error;
      this.#bare.add(call.tool);
      return this.#put(call, send);
    }
  }

  #tell(error: unknown): void {
    try {
      this.#options.onError?.(error);
    } catch {
      // A listener that throws changes nothing.
    }
  }

  async #express(call: ToolCall): Promise<{ expressed: Call; session: Session }> {
    const { tool, callId } = call;
    const args = call.arguments as JsonObject;
    const { risk, summary, allowed, expiresIn, onBehalfOf } = this.#options;
    const around = currentSession();
    const named = this.#options.session ?? call.session;
    const session =
      named !== undefined
        ? this.#session(named, around, call.user)
        : (around ?? this.#session(this.#anonymous));
    if (this.mode === "pause" && session.id === this.#anonymous) throw new ConfigError(UNNAMED);
    const context: JsonObject = {
      framework: this.#framework,
      ...(callId === undefined ? {} : { call_id: callId }),
      ...call.context,
      ...this.#options.context,
    };
    return {
      session,
      expressed: {
        tool,
        arguments: args,
        session: session.id,
        context,
        keys: await this.#keys(call, session),
        risk: typeof risk === "function" ? risk(tool, args) : risk,
        summary: typeof summary === "function" ? summary(tool, args) : summary,
        allowed,
        expiresIn,
        onBehalfOf,
        argumentsSchema: this.#bare.has(tool) ? undefined : (call.schema as Json | undefined),
        check: call.check,
      },
    };
  }

  /** The call id makes the strong key. The weak one, for a restart that makes new ids, needs a session with a name. */
  async #keys(call: ToolCall, session: Session): Promise<keys.Keys> {
    const { id } = session;
    const framework = this.#framework;
    const parts = { ...session.parts(), ...ownerParts({ ...call.context, ...this.#options.context }) };
    const strong =
      call.callId === undefined
        ? keys.random()
        : await keys.strong({ ...parts, framework, callId: call.callId });
    if (id === this.#anonymous) return { strong };
    let weak = this.#weak.get(strong);
    if (weak === undefined) {
      const args = call.arguments as JsonObject;
      const ordinal = session.ordinal(call.tool, args);
      weak = await keys.weak({ ...parts, tool: call.tool, arguments: args, ordinal });
      this.#weak.set(strong, weak);
      if (this.#weak.size > REMEMBERED) this.#weak.delete(this.#weak.keys().next().value as string);
    }
    return { strong, weak };
  }

  /** Whose it is comes from the session around the call, whoever names the session. */
  #session(id: string, around?: Session, owner?: string): Session {
    const { tenant, user = owner } = around ?? {};
    const app = this.#options.app ?? around?.app;
    const key = JSON.stringify([id, app, tenant, user]);
    let session = this.#sessions.get(key);
    if (!session) {
      session = new Session({ id, app, tenant, user });
      this.#sessions.set(key, session);
      if (this.#sessions.size > REMEMBERED)
        this.#sessions.delete(this.#sessions.keys().next().value as string);
    }
    return session;
  }
}

/** Whether a framework that is told yes or no may be told yes: the claim still has the last word. */
export function open(record: RequestRecord): boolean {
  return !NO.includes(record.state);
}

/** Why not, for a framework that wants a sentence. */
export function why(record: RequestRecord): string {
  const reason = record.decision?.reason ?? record.verdict?.reasons?.join("; ");
  return `the request for approval is ${record.state}${reason ? `: ${reason}` : ""}`;
}

/** What the model is told when the adapter itself failed. */
function mishap(tool: string, error: unknown): Refusal {
  const reason = error instanceof Error ? error.message : String(error);
  const message = `This call could not be put to anybody for approval, and nothing was run. The reason: ${reason}`;
  return { status: "failed", tool, reason, message, request: null };
}

/** After an edit the model must know what really ran, or it will report what it asked for. */
export function withNote(value: unknown, held: Held): unknown {
  const note = held.note();
  if (note === undefined) return value;
  if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    return { ...value, ...note };
  }
  return { result: value ?? null, ...note };
}

/** The same error, which says what ran: after an edit the model must know that too when it failed. */
export function annotated(error: unknown, held: Held): unknown {
  const note = held.note();
  if (note === undefined || !(error instanceof Error)) return error;
  try {
    error.message = `${error.message}\n${JSON.stringify(note)}`;
  } catch {
    // It cannot be changed, and is passed on as it is.
  }
  return error;
}

/** Whether a tool's output is a refusal of ours, also after it was stored and read again. */
export function isRefusal(output: unknown, tool: string): output is Refusal {
  if (typeof output !== "object" || output === null) return false;
  const { status, tool: named, message, request } = output as Partial<Refusal>;
  return (
    typeof status === "string" &&
    named === tool &&
    typeof message === "string" &&
    (request === null || (typeof request === "string" && request.startsWith("req_")))
  );
}

/** A copy with some properties replaced. Prototype, symbols and hidden properties stay: frameworks look at them. */
export function changed<T extends object>(original: T, changes: Partial<T>): T {
  const copy = Object.create(
    Object.getPrototypeOf(original),
    Object.getOwnPropertyDescriptors(original),
  ) as T;
  for (const key of Reflect.ownKeys(changes)) {
    const value = changes[key as keyof T];
    Object.defineProperty(copy, key, { value, enumerable: true, writable: true, configurable: true });
  }
  return copy;
}
