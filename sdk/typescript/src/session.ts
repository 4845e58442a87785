/** Sessions. A session gives its name, the parts of keys and a client to every call inside it. */

import type { Placet } from "./client.js";
import { ConfigError } from "./errors.js";
import { canonical } from "./json.js";
import type * as keys from "./keys.js";
import { checkOptions, type Names } from "./options.js";
import { builtin } from "./runtime.js";
import type { JsonObject, RequestRecord } from "./wire.js";

export interface SessionParts {
  id: string;
  app?: string;
  agent?: string;
  user?: string;
  tenant?: string;
  /** Names one message of the conversation: an equal call of a later message is another one. A retry has the same turn. */
  turn?: string;
  invocation?: string;
  lineage?: readonly string[];
  client?: Placet;
}

/** How many different calls are counted per session; the oldest is forgotten first. */
const COUNTED = 10_000;

const PARTS: Names<SessionParts> = {
  ...{ id: true, app: true, agent: true, user: true, tenant: true, turn: true },
  ...{ invocation: true, lineage: true, client: true },
};

export class Session implements SessionParts {
  readonly id: string;
  readonly app: string | undefined;
  readonly agent: string | undefined;
  readonly user: string | undefined;
  readonly tenant: string | undefined;
  readonly turn: string | undefined;
  readonly invocation: string | undefined;
  readonly lineage: readonly string[] | undefined;
  readonly client: Placet | undefined;
  #counts = new Counter();
  #runs = 0;
  #number = 0;

  constructor(parts: SessionParts) {
    checkOptions("session", parts, PARTS);
    if (typeof parts.id !== "string" || parts.id === "" || new TextEncoder().encode(parts.id).length > 200) {
      throw new ConfigError("a session's id must be text of 1 to 200 bytes");
    }
    this.id = parts.id;
    this.app = parts.app;
    this.agent = parts.agent;
    this.user = parts.user;
    this.tenant = parts.tenant;
    this.turn = parts.turn;
    this.invocation = parts.invocation;
    this.lineage = parts.lineage;
    this.client = parts.client;
  }

  /** How often this call was made in the session before. */
  ordinal(tool: string, args: JsonObject): number {
    return this.#counts.next(canonical([tool, args]));
  }

  /** Runs a function with this session around everything it calls, across awaits. */
  run<T>(fn: () => T): T {
    const store = local();
    if (!store) {
      throw new ConfigError(
        "this runtime has no AsyncLocalStorage: pass the session to the call instead, as `in: session`",
      );
    }
    if (this.#runs++ === 0) this.#number = take(this.#whose());
    const done = () => {
      if (--this.#runs === 0) give(this.#whose(), this.#number);
    };
    let result: T;
    try {
      result = store.run(this, fn);
    } catch (error) {
      done();
      throw error;
    }
    if (result instanceof Promise) result.then(done, done);
    else done();
    return result;
  }

  /** @internal The parts of keys that say whose call it is, and in which turn. */
  parts(): keys.Whose & { turn?: string; agent?: string } {
    const { app, tenant, user, agent } = this;
    // Two messages of one session at the same time get different turns, although neither names one.
    const turn = this.#number > 0 ? `${this.turn ?? ""}+${this.#number}` : this.turn;
    return { app, tenant, user, session: this.id, turn, agent };
  }

  #whose(): string {
    const { app = null, tenant = null, user = null, id, turn = null } = this;
    return canonical([app, tenant, user, id, turn]);
  }

  /** The context of a call that a reviewer sees. */
  context(): JsonObject {
    const { app, agent, user, tenant, turn, invocation, lineage } = this;
    return {
      ...(app === undefined ? {} : { app }),
      ...(agent === undefined ? {} : { agent }),
      ...(user === undefined ? {} : { user }),
      ...(tenant === undefined ? {} : { tenant }),
      ...(turn === undefined ? {} : { turn }),
      ...(invocation === undefined ? {} : { invocation_id: invocation }),
      ...(lineage === undefined ? {} : { lineage: [...lineage] }),
    };
  }
}

/** Numbers of the sessions of one name that run now. */
const running = new Map<string, Set<number>>();

function take(whose: string): number {
  const numbers = running.get(whose) ?? new Set();
  running.set(whose, numbers);
  let number = 0;
  while (numbers.has(number)) number += 1;
  numbers.add(number);
  return number;
}

function give(whose: string, number: number): void {
  const numbers = running.get(whose);
  numbers?.delete(number);
  if (numbers?.size === 0) running.delete(whose);
}

/** Counts equal things, with a bound. */
export class Counter {
  #seen = new Map<string, number>();

  next(key: string): number {
    const count = this.#seen.get(key) ?? 0;
    this.#seen.delete(key);
    this.#seen.set(key, count + 1);
    if (this.#seen.size > COUNTED) this.#seen.delete(this.#seen.keys().next().value as string);
    return count;
  }
}

/** `session({id: "s1"}, async () => …)`: every gated call inside belongs to `s1`. */
export function session<T>(parts: SessionParts | string, fn: () => T): T {
  return new Session(typeof parts === "string" ? { id: parts } : parts).run(fn);
}

/**
 * Runs a function in the session that a request was made in: a call that it makes again is then the same request, of the same
 * user.
 */
export function inSessionOf<T>(record: RequestRecord | undefined, client: Placet, fn: () => T): T {
  // Without async context, the request was made without a session.
  if (!local() || !record?.session) return fn();
  const context = record.context ?? {};
  const text = (name: string) => (typeof context[name] === "string" ? context[name] : undefined);
  const { lineage } = context;
  const parts = {
    ...{ app: text("app"), agent: text("agent"), user: text("user"), tenant: text("tenant") },
    ...{ turn: text("turn"), invocation: text("invocation_id") },
    ...(Array.isArray(lineage) ? { lineage: lineage as string[] } : {}),
  };
  return new Session({ id: record.session, client, ...parts }).run(fn);
}

/** The session around the caller, if there is one. */
export function currentSession(): Session | undefined {
  return local()?.getStore();
}

interface ContextStorage {
  run<T>(value: Session, fn: () => T): T;
  getStore(): Session | undefined;
}
let found: ContextStorage | undefined | null = null;

function local(): ContextStorage | undefined {
  if (found !== null) return found;
  const hooks = builtin<{ AsyncLocalStorage: new () => ContextStorage }>("node:async_hooks");
  found = hooks ? new hooks.AsyncLocalStorage() : undefined;
  return found;
}
