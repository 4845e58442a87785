/**
 * Vercel AI SDK: `gate.tools({…})` around the tools that a model may call. Nothing of the SDK is imported; a gated tool
 * is the same tool with another `execute`, so it works in `generateText`, `streamText` and agents alike.
 */
import { aiCoverage, outside } from "../coverage/ai.js";
import { mark } from "../coverage/report.js";
import { ConfigError } from "../errors.js";
import type { Held } from "../held.js";
import type { Json, JsonObject, RequestRecord } from "../wire.js";
import { guardedModel } from "./ai-model.js";
import {
  type AdapterOptions,
  annotated,
  changed,
  Gate,
  isRefusal,
  open,
  type Ruling,
  type ToolCall,
  why,
  withNote,
} from "./common.js";
import { editCheck, jsonSchema } from "./schema.js";

export { type AiRunsOptions, storedRuns } from "./ai-runs.js";
export type { AdapterOptions } from "./common.js";

/** The parts of a tool that matter here. */
interface AiTool {
  execute?: (input: unknown, options: ExecuteOptions) => unknown;
  inputSchema?: unknown;
  needsApproval?: unknown;
  toModelOutput?: (options: { toolCallId: string; input: unknown; output: unknown }) => unknown;
}
interface ExecuteOptions {
  toolCallId: string;
  abortSignal?: AbortSignal;
}
type NeedsApproval = boolean | ((input: unknown, options: ExecuteOptions) => boolean | PromiseLike<boolean>);

/** A message as the SDK stores it: text, or a list of parts. */
interface Message {
  content: unknown;
}
/** The parts that matter here. */
interface MessagePart {
  type?: string;
  approvalId?: string;
  toolCallId?: string;
  toolName?: string;
  input?: unknown;
}

/** A message to append before the run is started again. It opens the gate of the SDK, not ours. */
export interface ApprovalMessage {
  role: "tool";
  content: { type: "tool-approval-response"; approvalId: string; approved: boolean; reason?: string }[];
}

export interface AiGate {
  /** The same tools, each of whose calls waits for its approval. */
  tools<T extends Record<string, object>>(tools: T): T;
  /**
   * The same model, which is not called with a tool that did not go through `tools`: one that was put beside the gated
   * ones, that a `prepareCall` added, or that runs at the provider.
   */
  model<M extends object>(model: M): M;
  /**
   * For `mode: "pause"`: the answers to all approval requests that are open in these messages, read from Placet;
   * nothing as long as one of them is undecided.
   */
  decided(messages: readonly Message[]): Promise<ApprovalMessage | undefined>;
  /** For `mode: "pause"`: the requests behind the approvals that are open in these messages. */
  requests(messages: readonly Message[]): Promise<readonly RequestRecord[]>;
  /** Whether approvals for tools of this gate are open in these messages. */
  waits(messages: readonly Message[]): boolean;
}

export function createGate(options: AdapterOptions = {}): AiGate {
  const gate = new Gate("ai-sdk", options).named();
  const known = new Map<string, GatedTool>();
  /** Every tool that went through the gate, held or not. */
  const seen = new Set<string>();
  /** Tools that are not ours are somebody else's to answer for. */
  const undecided = (messages: readonly Message[]) => {
    if (known.size === 0)
      throw new ConfigError("no tool is gated yet: call gate.tools({…}) before gate.decided(…)");
    return unanswered(messages).filter(({ tool }) => known.has(tool));
  };
  const recordsOf = (asked: readonly PendingApproval[]) =>
    Promise.all(
      asked.map(({ tool, input, toolCallId }) => (known.get(tool) as GatedTool).record(input, toolCallId)),
    );
  return {
    tools(tools) {
      gate.only.among(Object.keys(tools));
      const held: Record<string, object> = {};
      for (const [name, tool] of Object.entries(tools)) {
        if (outside(tool)) {
          held[name] = tool;
        } else if (gate.holds(name)) {
          const gated = new GatedTool(gate, name, tool as AiTool);
          known.set(name, gated);
          held[name] = gated.tool();
        } else held[name] = leftOut(tool as AiTool);
      }
      gate.covers(aiCoverage(held), "Leave it out, give it an execute");
      for (const name of Object.keys(tools)) seen.add(name);
      return held as typeof tools;
    },
    model: (model) => guardedModel(gate, model, seen),
    waits: (messages) => undecided(messages).length > 0,
    requests: (messages) => recordsOf(undecided(messages)),
    async decided(messages) {
      const asked = undecided(messages);
      const records = await recordsOf(asked);
      if (asked.length === 0 || records.some((record) => record.state === "pending")) return undefined;
      return {
        role: "tool",
        content: asked.map(({ approvalId }, at) => response(approvalId, records[at] as RequestRecord)),
      };
    },
  };
}

/** A tool that runs unasked, as the program wants it. */
function leftOut(tool: AiTool): AiTool {
  const execute = tool.execute as NonNullable<AiTool["execute"]>;
  return changed(tool, { execute: mark((input, options) => execute.call(tool, input, options), "left out") });
}

function response(approvalId: string, record: RequestRecord): ApprovalMessage["content"][number] {
  const approved = open(record);
  return {
    type: "tool-approval-response",
    approvalId,
    approved,
    ...(approved ? {} : { reason: why(record) }),
  };
}

class GatedTool {
  readonly #gate: Gate;
  readonly #name: string;
  readonly #tool: AiTool;
  readonly #execute: NonNullable<AiTool["execute"]>;
  #schema: Promise<JsonObject | undefined> | undefined;

  constructor(gate: Gate, name: string, tool: AiTool) {
    this.#gate = gate;
    this.#name = name;
    this.#tool = tool;
    this.#execute = tool.execute as NonNullable<AiTool["execute"]>;
  }

  tool(): AiTool {
    const original = this.#tool;
    const execute: AiTool["execute"] = (input, options) => this.#call(input, options);
    const changes: AiTool = { execute: mark(execute, "gated") };
    if (original.toModelOutput) changes.toModelOutput = (options) => this.#output(options);
    if (this.#gate.mode === "pause") {
      changes.needsApproval = async (input: unknown, options: ExecuteOptions) =>
        (await needs(original.needsApproval as NeedsApproval | undefined, input, options)) ||
        (await this.#gate.pending(await this.#described(input, options))) !== undefined;
    }
    return changed(original, changes);
  }

  /** The request for a call that an earlier run made. */
  async record(input: unknown, toolCallId: string): Promise<RequestRecord> {
    return this.#gate.ask(await this.#described(input, { toolCallId }));
  }

  async #described(input: unknown, options: ExecuteOptions): Promise<ToolCall> {
    this.#schema ??= jsonSchema(this.#tool.inputSchema);
    return {
      tool: this.#name,
      arguments: input,
      callId: options.toolCallId,
      schema: await this.#schema,
      check: editCheck(this.#tool.inputSchema),
      signal: options.abortSignal,
    };
  }

  /** A tool that streams is told by its function; the SDK looks at what comes back before anything has happened. */
  #call(input: unknown, options: ExecuteOptions): unknown {
    const streams = Object.prototype.toString.call(this.#execute) === "[object AsyncGeneratorFunction]";
    return streams ? this.#stream(input, options) : this.#once(input, options);
  }

  async #rule(input: unknown, options: ExecuteOptions): Promise<Ruling> {
    return this.#gate.rule(await this.#described(input, options));
  }

  async #once(input: unknown, options: ExecuteOptions): Promise<unknown> {
    const ruling = await this.#rule(input, options);
    if (!ruling.go) return ruling.result;
    return this.#gate.run(ruling.held, (args) => last(this.#execute.call(this.#tool, args, options)));
  }

  async *#stream(input: unknown, options: ExecuteOptions): AsyncGenerator {
    const ruling = await this.#rule(input, options);
    if (!ruling.go) {
      yield ruling.result;
      return;
    }
    yield* reported(
      ruling.held,
      (args) => this.#execute.call(this.#tool, args, options) as AsyncIterable<unknown>,
    );
  }

  /** The tool's own view of its output is kept from what it has never seen: a refusal, and the note about an edit. */
  async #output(options: { toolCallId: string; input: unknown; output: unknown }): Promise<unknown> {
    const { output } = options;
    if (isRefusal(output, this.#name)) return { type: "json", value: output };
    const { value, note } = unnoted(output);
    const shown = (await this.#tool.toModelOutput?.({ ...options, output: value })) as ModelOutput;
    return note === undefined ? shown : noted(shown, note);
  }
}

/** The last of what a call yields, or what it returns. */
async function last(returned: unknown): Promise<unknown> {
  const value = await returned;
  if (typeof value !== "object" || value === null || !(Symbol.asyncIterator in value)) return value;
  let latest: unknown;
  for await (const part of value as AsyncIterable<unknown>) latest = part;
  return latest;
}

async function* reported(held: Held, fn: (args: JsonObject) => AsyncIterable<unknown>): AsyncGenerator {
  let latest: unknown;
  let ended = false;
  try {
    for await (const part of fn(held.arguments)) {
      latest = part;
      yield part;
    }
    ended = true;
    await held.succeeded(latest);
  } catch (error) {
    ended = true;
    await held.failed(error);
    throw annotated(error, held);
  } finally {
    if (!ended) await held.failed("it was stopped before it had ended");
  }
  if (held.edited) yield withNote(latest, held);
}

async function needs(
  own: NeedsApproval | undefined,
  input: unknown,
  options: ExecuteOptions,
): Promise<boolean> {
  return typeof own === "function" ? own(input, options) : own === true;
}

/** The note of `withNote`, taken off again. */
function unnoted(output: unknown): { value: unknown; note?: JsonObject } {
  if (typeof output !== "object" || output === null || !("placet" in output)) return { value: output };
  const { placet, ...rest } = output as { placet: JsonObject; result?: unknown };
  if (placet?.edited !== true) return { value: output };
  const wrapped = Object.keys(rest).length === 1 && "result" in rest;
  return { value: wrapped ? rest.result : rest, note: { placet } };
}

interface ModelOutput {
  type: string;
  value?: unknown;
}
/** A model output with the note in the form that it has. */
function noted(output: ModelOutput, note: JsonObject): ModelOutput {
  const text = JSON.stringify(note);
  switch (output.type) {
    case "text":
    case "error-text":
      return { ...output, value: `${String(output.value)}\n${text}` };
    case "content":
      return { ...output, value: [...(output.value as Json[]), { type: "text", text }] };
    default:
      return { ...output, value: { result: output.value, ...note } };
  }
}

interface PendingApproval {
  approvalId: string;
  toolCallId: string;
  tool: string;
  input: unknown;
}
/** Approval requests without a response, with the calls that they are about. */
function unanswered(messages: readonly Message[]): PendingApproval[] {
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? (content as MessagePart[]) : []));
  const of = (type: string) => parts.filter((part) => part.type === type);
  const calls = new Map(of("tool-call").map((part) => [part.toolCallId, part]));
  const answered = new Set(of("tool-approval-response").map(({ approvalId }) => approvalId));
  return of("tool-approval-request")
    .filter(({ approvalId }) => !answered.has(approvalId))
    .map(({ approvalId, toolCallId }) => {
      const call = calls.get(toolCallId);
      if (!call)
        throw new ConfigError(`the messages lack the call ${toolCallId} that approval was asked for`);
      const tool = String(call.toolName);
      return { approvalId: String(approvalId), toolCallId: String(toolCallId), tool, input: call.input };
    });
}
