/** `gate(fn)`: the same function, which runs only after a person or the policy approved. */
import type { Call } from "./call.js";
import { type EditCheck, misfit } from "./check.js";
import { defaultClient, type OnOutage, type Placet } from "./client.js";
import type { Duration } from "./duration.js";
import { ConfigError, NotJson } from "./errors.js";
import type { Refusal } from "./held.js";
import type { HoldOptions } from "./hold.js";
import { GATE } from "./names.js";
import type { OnWaiting } from "./notice.js";
import {
  checkListener,
  checkOptions,
  checkRequestWords,
  checkWord,
  OUTAGES,
  REFUSALS,
  REPORTS,
} from "./options.js";
import type { ReportMode } from "./reports.js";
import { currentSession, type Session } from "./session.js";
import type { JsonObject } from "./wire.js";

export interface GateOptions<A extends unknown[]>
  extends Omit<Call, "tool" | "arguments" | "summary" | "keys" | "session"> {
  /** The function's own name unless given. */
  tool?: string;
  /** Names for positional arguments. Without them the function takes one object. */
  params?: readonly string[];
  /** A text, or a function of the arguments: the agent's own words for the reviewer. */
  summary?: string | ((args: JsonObject) => string);
  /** What the reviewer sees, where the arguments are not JSON. Edits are not offered then: they could not be applied. */
  describe?: (...args: A) => JsonObject;
  client?: Placet;
  in?: Session;
  holdFor?: Duration;
  onOutage?: OnOutage;
  /** A refusal is returned as a structured result for the model, or thrown. */
  onDenied?: "return" | "raise";
  /** Called when the call waits for a person, instead of the client's callback; `null` calls none. */
  onWaiting?: OnWaiting | null;
  /** Whether the caller waits for the report of the outcome; as the client does unless given. */
  report?: ReportMode;
  /** Given the call's arguments, a signal that withdraws the request. */
  signal?: (...args: A) => AbortSignal | undefined;
}

/** Wraps a function. With `onDenied: "raise"` the wrapper returns what the function returns. */
export function gate<A extends unknown[], R>(
  fn: (...args: A) => R,
  options: GateOptions<A> & { onDenied: "raise" },
): (...args: A) => Promise<Awaited<R>>;
export function gate<A extends unknown[], R>(
  fn: (...args: A) => R,
  options?: GateOptions<A>,
): (...args: A) => Promise<Awaited<R> | Refusal>;
export function gate<A extends unknown[], R>(
  fn: (...args: A) => R,
  options: GateOptions<A> = {},
): (...args: A) => Promise<Awaited<R> | Refusal> {
  if (typeof fn !== "function") throw new ConfigError("gate takes the function that is to be held");
  checkOptions("gate", options, GATE);
  checkWord("onDenied", options.onDenied, REFUSALS);
  checkWord("onOutage", options.onOutage, OUTAGES);
  checkListener("onWaiting", options.onWaiting);
  checkWord("report", options.report, REPORTS);
  checkRequestWords(options);
  const {
    params,
    describe,
    client,
    onDenied,
    onOutage,
    onWaiting,
    report,
    holdFor,
    signal,
    in: inside,
    ...rest
  } = options;
  const tool = options.tool ?? fn.name;
  if (tool === "") throw new ConfigError("the function has no name: pass `tool`");
  if (params && new Set(params).size !== params.length) {
    throw new ConfigError(`params of ${tool} must be different names`);
  }

  const gated = async function (this: unknown, ...args: A): Promise<Awaited<R> | Refusal> {
    const session = inside ?? currentSession();
    const placet = client ?? session?.client ?? defaultClient();
    const named = describe ? describe(...args) : bind(tool, params, args);
    const call: Call = {
      ...rest,
      tool,
      arguments: named,
      summary: typeof options.summary === "function" ? options.summary(named) : options.summary,
      ...(params ? { check: (edited: JsonObject) => fits(params, options.check, edited) } : {}),
      ...(describe
        ? { allowed: (options.allowed ?? ["approve", "deny"]).filter((word) => word !== "edit") }
        : {}),
    };
    const hold: HoldOptions = {
      holdFor,
      onOutage,
      onWaiting,
      report,
      in: session,
      signal: signal?.(...args),
    };
    return placet.run<Awaited<R>>(
      call,
      async (approved): Promise<Awaited<R>> =>
        await fn.apply(this, describe ? args : unbind(params, approved, args)),
      { ...hold, onDenied },
    );
  };
  Object.defineProperty(gated, "name", { value: fn.name });
  return gated;
}

/** The arguments by name. What is undefined was not given. */
function bind(tool: string, params: readonly string[] | undefined, args: readonly unknown[]): JsonObject {
  if (!params) {
    if (args.length === 0) return {};
    const [only] = args;
    if (args.length > 1 || typeof only !== "object" || only === null || Array.isArray(only)) {
      throw new NotJson(
        "",
        `${tool} takes one object with named arguments; for positional ones give \`params\``,
      );
    }
    // A class instance is not made plain here: the check that follows names it and refuses it.
    if (Object.getPrototypeOf(only) !== Object.prototype) return only as JsonObject;
    const given = Object.getOwnPropertyDescriptors(only) as { [key: PropertyKey]: PropertyDescriptor };
    for (const key of Object.keys(given)) {
      const property = given[key];
      if (property && "value" in property && property.value === undefined) delete given[key];
    }
    return Object.defineProperties({}, given) as JsonObject;
  }
  if (args.length > params.length) {
    throw new NotJson(
      "",
      `${tool} was called with ${args.length} arguments, and \`params\` names ${params.length}`,
    );
  }
  const named = args.map((value, at) => [params[at] as string, value] as const);
  return Object.fromEntries(named.filter(([, value]) => value !== undefined)) as JsonObject;
}

/** An edit may leave arguments out. It must not add any, because the function would drop them silently. */
async function fits(
  params: readonly string[],
  check: EditCheck | undefined,
  edited: JsonObject,
): Promise<void> {
  const strange = Object.keys(edited).find((name) => !params.includes(name));
  if (strange !== undefined) throw new NotJson(`/${strange}`, "is not an argument of this function");
  const problem = check === undefined ? undefined : await misfit(check, edited);
  if (problem !== undefined) throw new NotJson("", problem);
}

/** Back to how the function takes them. */
function unbind<A extends unknown[]>(
  params: readonly string[] | undefined,
  approved: JsonObject,
  original: A,
): A {
  if (!params)
    return (original.length === 0 && Object.keys(approved).length === 0 ? [] : [approved]) as unknown as A;
  return params.map((name) => approved[name]) as unknown as A;
}
