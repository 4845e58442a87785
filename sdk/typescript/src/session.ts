/** Whose calls these are. A session gives its name, the parts of keys and a client to everything inside it. */

import type { Placet } from "./client.js";
import { ConfigError } from "./errors.js";
import { canonical } from "./json.js";
import { builtin } from "./runtime.js";
import type { JsonObject } from "./wire.js";

export interface SessionParts {
  id: string;
  app?: string;
  agent?: string;
  user?: string;
  invocation?: string;
  lineage?: readonly string[];
  client?: Placet;
}

/** How many different calls are counted per session; the oldest is forgotten first. */
const COUNTED = 10_000;

export class Session implements SessionParts {
  readonly id: string;
  readonly app: string | undefined;
  readonly agent: string | undefined;
  readonly user: string | undefined;
  readonly invocation: string | undefined;
  readonly lineage: readonly string[] | undefined;
  readonly client: Placet | undefined;
  #counts = new Counter();

  constructor(parts: SessionParts) {
    if (typeof parts.id !== "string" || parts.id === "" || new TextEncoder().encode(parts.id).length > 200) {
      throw new ConfigError("a session's id must be text of 1 to 200 bytes");
    }
    this.id = parts.id;
    this.app = parts.app;
    this.agent = parts.agent;
    this.user = parts.user;
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
    return store.run(this, fn);
  }

  /** What the reviewer is told about where a call comes from. */
  context(): JsonObject {
    const { app, agent, user, invocation, lineage } = this;
    return {
      ...(app === undefined ? {} : { app }),
      ...(agent === undefined ? {} : { agent }),
      ...(user === undefined ? {} : { user }),
      ...(invocation === undefined ? {} : { invocation_id: invocation }),
      ...(lineage === undefined ? {} : { lineage: [...lineage] }),
    };
  }
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

/** The session around the caller, if there is one. */
export function currentSession(): Session | undefined {
  return local()?.getStore();
}

interface Local {
  run<T>(value: Session, fn: () => T): T;
  getStore(): Session | undefined;
}
let found: Local | undefined | null = null;

function local(): Local | undefined {
  if (found !== null) return found;
  const hooks = builtin<{ AsyncLocalStorage: new () => Local }>("node:async_hooks");
  found = hooks ? new hooks.AsyncLocalStorage() : undefined;
  return found;
}
