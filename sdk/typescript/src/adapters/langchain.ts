/**
 * LangChain.js and LangGraph.js: a middleware around every tool call of an agent. The framework's own functions are
 * passed in, so the adapter works with the copy that the program uses and imports none.
 */
import { hostedName, isLocal, rememberHolding } from "../coverage/langchain.js";
import { Findings, HOSTED, mark } from "../coverage/report.js";
import { ConfigError } from "../errors.js";
import type { Held } from "../held.js";
import { checkWord } from "../options.js";
import type { ResumeSource } from "../resume/resumer.js";
import type { JsonObject } from "../wire.js";
import { type AdapterOptions, annotated, Gate, open, type ToolCall, why } from "./common.js";
import { type Interrupt, requestOf, Threads, type ThreadsOptions } from "./langchain-threads.js";
import { editCheck, jsonSchema } from "./schema.js";

export type { AdapterOptions } from "./common.js";
export type { ThreadsOptions } from "./langchain-threads.js";

/** A tool's result, as much of it as is looked at. */
interface Message {
  content: unknown;
  status?: string;
}
interface Request {
  toolCall: { name: string; args: unknown; id?: string };
  tool?: unknown;
  runtime?: { signal?: AbortSignal; configurable?: { thread_id?: unknown } };
}
interface ModelRequest {
  tools?: unknown[];
}
type Handler = (request: never) => unknown;

export interface LangChainOptions<M> extends AdapterOptions {
  /** `createMiddleware` of `langchain`. */
  createMiddleware: (config: never) => M;
  /** `ToolMessage` of `langchain`. */
  ToolMessage: new (
    fields: never,
  ) => object;
  /** `interrupt` of `@langchain/langgraph`; needed for `mode: "pause"`. */
  interrupt?: (value: never) => unknown;
  /**
   * What an error of a tool becomes. `message` tells the model, as LangChain does without a middleware; `throw` ends the
   * run, as LangChain does with one. It is reported as failed in both cases.
   */
  toolErrors?: "message" | "throw";
}

/** What a paused run shows, in the words of LangChain's own human-in-the-loop middleware. */
export interface Paused {
  actionRequests: { name: string; args: JsonObject; description: string }[];
  reviewConfigs: { actionName: string; allowedDecisions: string[] }[];
  placet: { request: string; url: string };
}

export interface LangChainGate<M> {
  /** For `createAgent({ middleware: [gate.middleware, …] })`. Put it first: what stands before it sees calls unheld. */
  middleware: M;
  /**
   * For the end of the list, where other middleware can add tools in a call of the model: it refuses tools of the provider
   * that `middleware` could not see.
   */
  guard: M;
  /**
   * For `mode: "pause"`: what to give to `new Command({ resume })`, once all requests of the paused run are decided;
   * nothing before. What stands in it decides nothing: the decision is read from Placet when the run goes on.
   */
  decided(result: {
    __interrupt__?: readonly Interrupt[];
  }): Promise<{ [interrupt: string]: JsonObject } | undefined>;
  /** For `new Resumer(gate.threads({…}))`: the paused threads of a checkpointer, which go on when they are decided. */
  threads(options: ThreadsOptions): ResumeSource;
}

const OWN = { createMiddleware: true, ToolMessage: true, interrupt: true, toolErrors: true } as const;

export function createGate<M>(options: LangChainOptions<M>): LangChainGate<M> {
  const { createMiddleware, ToolMessage, interrupt, toolErrors = "message" } = options;
  if (typeof createMiddleware !== "function" || typeof ToolMessage !== "function") {
    throw new ConfigError(
      'pass createMiddleware and ToolMessage: import { createMiddleware, ToolMessage } from "langchain"',
    );
  }
  checkWord("toolErrors", toolErrors, ["message", "throw"]);
  const gate = new Gate("langchain", options, OWN);
  if (gate.mode === "pause" && typeof interrupt !== "function") {
    throw new ConfigError('mode "pause" needs interrupt: import { interrupt } from "@langchain/langgraph"');
  }
  const message = (call: Request["toolCall"], content: string, status: "success" | "error") =>
    new ToolMessage({ content, status, name: call.name, tool_call_id: call.id ?? "" } as never);

  const wrapToolCall = async (request: Request, handler: Handler): Promise<unknown> => {
    const { toolCall } = request;
    // A run that is resumed may begin here, before the names were checked: then everything is held.
    if (gate.only.passes(toolCall.name)) return handler(request as never);
    const pausing = gate.mode === "pause";
    const call = await described(request);
    let ruling = await gate.rule(call, pausing);
    while (!ruling.go && ruling.pending && ruling.held) {
      // Ends the run; when it is resumed, everything above has happened again. A resume in between changes nothing.
      interrupt?.(paused(call, ruling.held) as never);
      ruling = await gate.rule(call, pausing);
    }
    if (!ruling.go) {
      return message(toolCall, JSON.stringify(ruling.result), ruling.answered ? "success" : "error");
    }
    const { held } = ruling;
    try {
      const done = await handler({ ...request, toolCall: { ...toolCall, args: held.arguments } } as never);
      await report(held, done);
      return held.edited ? noted(done, held, toolCall.id) : done;
    } catch (error) {
      await held.failed(error);
      if (aborted(error, call.signal)) throw error;
      const said = annotated(error, held);
      if (toolErrors === "throw") throw said;
      return message(toolCall, `${String(said)}\n Please fix your mistakes.`, "error");
    }
  };

  /** Before the first word of the model: it cannot have asked for anything yet. */
  const wrapModelCall = async (request: ModelRequest, handler: Handler): Promise<unknown> => {
    const tools = request.tools ?? [];
    gate.only.see(...tools.filter(isLocal).map(({ name }) => name));
    gate.only.check();
    const found = new Findings("langchain", "this agent");
    for (const tool of tools) if (!isLocal(tool)) found.misses(hostedName(tool), "hosted", HOSTED);
    gate.covers(found.report(), "Leave it out");
    return handler(request as never);
  };
  mark(wrapModelCall, "gated");
  rememberHolding(mark(wrapToolCall, "gated"), (tool) => gate.holds(tool));

  const decided: LangChainGate<M>["decided"] = async (result) => {
    const answers: { [interrupt: string]: JsonObject } = {};
    for (const { id, value } of result.__interrupt__ ?? []) {
      const asked = requestOf(value);
      if (asked === undefined || id === undefined) continue;
      const record = await gate.client.get(asked);
      if (record.state === "pending") return undefined;
      const go = open(record);
      answers[id] = { decisions: [go ? { type: "approve" } : { type: "reject", message: why(record) }] };
    }
    return Object.keys(answers).length === 0 ? undefined : answers;
  };

  return {
    middleware: createMiddleware({ name: "Placet", wrapToolCall, wrapModelCall } as never),
    guard: createMiddleware({ name: "PlacetGuard", wrapModelCall } as never),
    decided,
    threads: (given) => new Threads(gate, given, decided),
  };
}

async function described({ toolCall, tool, runtime }: Request): Promise<ToolCall> {
  const thread = runtime?.configurable?.thread_id;
  const schema = (tool as { schema?: unknown } | undefined)?.schema;
  return {
    tool: toolCall.name,
    arguments: toolCall.args,
    callId: toolCall.id,
    session: typeof thread === "string" && thread !== "" ? thread : undefined,
    schema: await jsonSchema(schema),
    check: editCheck(schema),
    signal: runtime?.signal,
  };
}

function paused(call: ToolCall, held: Held): Paused {
  const { tool: name } = call;
  const description =
    "Waits for a decision in Placet. Resume the run when it is decided; the resume value is not looked at.";
  return {
    actionRequests: [{ name, args: call.arguments as JsonObject, description }],
    reviewConfigs: [{ actionName: name, allowedDecisions: ["approve", "edit", "reject"] }],
    placet: { request: held.requestId ?? "", url: held.url ?? "" },
  };
}

/** A tool may answer with an error without throwing one; a `Command` is no message, and has worked. */
async function report(held: Held, done: unknown): Promise<void> {
  const { content, status } = (done ?? {}) as Message;
  if (status === "error")
    await held.failed(typeof content === "string" ? content : "the tool answered with an error");
  else await held.succeeded(typeof content === "string" ? content : undefined);
}

/** The model must know what really ran. A `Command` has the tool's message among its updates. */
function noted(done: unknown, held: Held, callId: string | undefined): unknown {
  const { update } = (done ?? {}) as { update?: { messages?: unknown } };
  const messages = Array.isArray(update?.messages)
    ? (update.messages as (Message & { tool_call_id?: string })[])
    : [];
  const result = messages.find((each) => each?.tool_call_id === callId) ?? (done as Message);
  const note = JSON.stringify(held.note());
  if (typeof result?.content === "string") result.content = `${result.content}\n${note}`;
  else if (Array.isArray(result?.content)) result.content = [...result.content, { type: "text", text: note }];
  return done;
}

/** The run itself was ended, by its caller or by an interrupt of the tool: not for the model to mend. */
function aborted(error: unknown, signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true || (error as { is_bubble_up?: unknown } | null)?.is_bubble_up === true;
}
