/** A model of the AI SDK that is not called with tools which did not go through the gate. */
import { NOT_WRAPPED, remoteServers } from "../coverage/ai.js";
import { type Coverage, Findings, HOSTED, mark } from "../coverage/report.js";
import { ConfigError } from "../errors.js";
import type { Gate } from "./common.js";

/** What the provider is told of tools. */
interface ModelCall {
  tools?: { type: string; name?: string; id?: string }[];
  providerOptions?: unknown;
}
interface Model {
  doGenerate(call: ModelCall): unknown;
  doStream(call: ModelCall): unknown;
}

/** `seen` are the tools that went through the gate, held or left out. */
export function guardedModel<M extends object>(gate: Gate, model: M, seen: ReadonlySet<string>): M {
  const { doGenerate, doStream } = model as unknown as Model;
  if (typeof doGenerate !== "function" || typeof doStream !== "function") {
    throw new ConfigError("gate.model takes a model, not its name: pass what a provider makes");
  }
  const guarded = (inner: Model["doGenerate"]) =>
    mark(async (call: ModelCall) => {
      gate.covers(strangers(call, seen), "Pass all tools through gate.tools({…})");
      return inner.call(model, call);
    }, "gated");
  return guard(model, { doGenerate: guarded(doGenerate), doStream: guarded(doStream) });
}

/** The tools of one call of the model, and which of them did not go through the gate. */
function strangers(call: ModelCall, seen: ReadonlySet<string>): Coverage {
  const found = new Findings("ai-sdk", "this call of the model");
  for (const { type, name, id } of call.tools ?? []) {
    if (name !== undefined && seen.has(name)) found.holds(name);
    else if (type === "function") found.misses(String(name), "tool", NOT_WRAPPED);
    else found.misses(name ?? id ?? type, "hosted", HOSTED);
  }
  for (const name of remoteServers(call.providerOptions)) found.misses(name, "mcp", HOSTED);
  return found.report();
}

/** The model itself, except for some methods. Everything else runs on the model: it may have private parts. */
function guard<M extends object>(model: M, methods: object): M {
  return new Proxy(model, {
    get(target, key) {
      if (Object.hasOwn(methods, key)) return methods[key as keyof typeof methods];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
