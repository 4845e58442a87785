/**
 * Mastra: `gate.tools({…})` around the tools of an agent, a workflow or an MCP server. Nothing of Mastra is imported; a
 * gated tool is the same tool with another `execute`.
 */
import { sha256 } from "../digest.js";
import { ConfigError } from "../errors.js";
import { canonical } from "../json.js";
import type { JsonObject } from "../wire.js";
import { type AdapterOptions, changed, Gate, type ToolCall } from "./common.js";
import { editCheck, jsonSchema } from "./schema.js";

export type { AdapterOptions } from "./common.js";

type Suspend = (payload: JsonObject) => unknown;
/** Where a call comes from: an agent puts its own part under `agent`, a workflow under `workflow`, older ones at the top. */
interface Place {
  toolCallId?: string;
  agentId?: string;
  workflowId?: string;
  runId?: string;
  threadId?: string;
  suspend?: Suspend;
  resumeData?: unknown;
}
interface Context extends Place {
  agent?: Place;
  workflow?: Place;
  abortSignal?: AbortSignal;
}
interface MastraTool {
  id?: string;
  inputSchema?: unknown;
  execute?: (input: unknown, context?: Context) => unknown;
}

export interface MastraGate {
  /** The same tools, each of whose calls waits for its approval. */
  tools<T extends Record<string, object>>(tools: T): T;
  /** One tool. */
  tool<T extends object>(tool: T): T;
}

export function createGate(options: AdapterOptions = {}): MastraGate {
  const gate = new Gate("mastra", options);
  const one = <T extends object>(original: T, key?: string): T => {
    const tool = original as MastraTool;
    const name = tool.id ?? key ?? "";
    if (!gate.holds(name)) return original;
    const { execute } = tool;
    if (typeof execute !== "function") {
      throw new ConfigError(
        `the tool ${name} has no execute: it runs elsewhere, and must be held there. Name the others with \`only\``,
      );
    }
    const gated = async (input: unknown, context?: Context): Promise<unknown> => {
      const place = { ...context, ...context?.workflow, ...context?.agent } as Place;
      const { suspend } = place;
      const pausing = gate.mode === "pause" && typeof suspend === "function";
      const call = await described(name, tool, input, place, context?.abortSignal);
      // A step of a workflow has no id of its own that would be the same when it is resumed.
      if (pausing) call.callId ??= await stepId(name, input, place);
      const ruling = await gate.rule(call, pausing);
      if (!ruling.go) {
        if (!ruling.pending || !pausing) return ruling.result;
        // Whatever the run is resumed with, this function is called again, and asks Placet again.
        return suspend({ placet: { request: ruling.held?.requestId ?? "", status: "pending" } });
      }
      const clean = gate.mode === "pause" ? unresumed(context) : context;
      return gate.run(ruling.held, (args) => checked(execute.call(tool, args, clean)));
    };
    return changed(tool, { execute: gated }) as T;
  };
  return {
    tool: (tool) => one(tool),
    tools: (tools) => {
      gate.expects(Object.entries(tools).map(([key, tool]) => (tool as MastraTool).id ?? key));
      const gated = Object.entries(tools).map(([key, tool]) => [key, one(tool, key)] as const);
      return Object.fromEntries(gated) as typeof tools;
    },
  };
}

async function described(
  name: string,
  tool: MastraTool,
  input: unknown,
  place: Place,
  signal: AbortSignal | undefined,
): Promise<ToolCall> {
  const { toolCallId, agentId, workflowId, threadId } = place;
  const context: JsonObject = {
    ...(agentId ? { agent_id: agentId } : {}),
    ...(workflowId ? { workflow_id: workflowId } : {}),
  };
  return {
    tool: name,
    arguments: input,
    callId: toolCallId,
    session: threadId,
    context,
    schema: await jsonSchema(tool.inputSchema),
    check: editCheck(tool.inputSchema),
    signal,
  };
}

/** The call of a tool by a workflow: the same run, tool and arguments are the same call. */
async function stepId(
  name: string,
  input: unknown,
  { workflowId, runId }: Place,
): Promise<string | undefined> {
  try {
    return runId && `${runId}-${(await sha256(canonical([workflowId ?? "", name, input]))).slice(0, 16)}`;
  } catch {
    return undefined; // not JSON, and refused for that
  }
}

/** What a paused run was resumed with is for us, and says nothing to the tool. */
function unresumed(context: Context | undefined): Context | undefined {
  if (context === undefined) return undefined;
  const without = <P extends Place>(place: P): P => ({ ...place, resumeData: undefined });
  return {
    ...without(context),
    ...(context.agent ? { agent: without(context.agent) } : {}),
    ...(context.workflow ? { workflow: without(context.workflow) } : {}),
  };
}

/** Mastra's tools answer bad input with a value, not with an exception; nothing ran then. */
async function checked(returned: unknown): Promise<unknown> {
  const value = await returned;
  const { error, message, validationErrors } = (value ?? {}) as {
    error?: unknown;
    message?: unknown;
    validationErrors?: unknown;
  };
  if (error === true && validationErrors !== undefined)
    throw new Error(String(message ?? "the input does not fit"));
  return value;
}
