/**
 * Mastra: `gate.tools({…})` around the tools of an agent, a workflow or an MCP server. Nothing of Mastra is imported; a
 * gated tool is the same tool with another `execute`.
 */
import { toolsCoverage } from "../coverage/mastra.js";
import { mark } from "../coverage/report.js";
import { sha256 } from "../digest.js";
import { canonical } from "../json.js";
import type { ResumeSource } from "../resume/resumer.js";
import type { JsonObject } from "../wire.js";
import { type AdapterOptions, changed, Gate, type ToolCall } from "./common.js";
import { ADVICE, guardedAgent } from "./mastra-agent.js";
import { type RunsOptions, SuspendedRuns } from "./mastra-runs.js";
import { editCheck, jsonSchema } from "./schema.js";

export type { AdapterOptions } from "./common.js";

type Suspend = (payload: JsonObject) => unknown;
/** Where a call comes from: an agent puts its own part under `agent`, a workflow under `workflow`, older ones at the top. */
interface CallPlace {
  toolCallId?: string;
  agentId?: string;
  workflowId?: string;
  runId?: string;
  threadId?: string;
  resourceId?: string;
  suspend?: Suspend;
  resumeData?: unknown;
}
interface Context extends CallPlace {
  agent?: CallPlace;
  workflow?: CallPlace;
  abortSignal?: AbortSignal;
}
interface MastraTool {
  id?: string;
  type?: string;
  inputSchema?: unknown;
  execute?: (input: unknown, context?: Context) => unknown;
}

export interface MastraGate {
  /** The same tools, each of whose calls waits for its approval. */
  tools<T extends Record<string, object>>(tools: T): T;
  /** One tool. */
  tool<T extends object>(tool: T): T;
  /**
   * The same agent, which calls nothing unasked: its tools, toolsets and tools of a run, memory and workspace, workflows, and
   * the tools of its agents. Tools that are gated already are asked about once.
   */
  agent<A extends object>(agent: A): A;
  /**
   * For `new Resumer(gate.runs(mastra.getAgent("ops")))`: the suspended runs of an agent, which go on when they are decided.
   * `onDone` is told of their results; the other options go to `resumeGenerate`.
   */
  runs(agent: object, options?: RunsOptions): ResumeSource;
}

export function createGate(options: AdapterOptions = {}): MastraGate {
  const gate = new Gate("mastra", options);
  const one = <T extends object>(original: T, name: string, schema?: unknown): T => {
    const tool = original as MastraTool;
    const { execute, inputSchema = schema } = tool;
    if (typeof execute !== "function") return original;
    const gated = async (input: unknown, context?: Context): Promise<unknown> => {
      // Tools that are made one by one are all known when the first of them is called.
      gate.only.check();
      const place = { ...context, ...context?.workflow, ...context?.agent } as CallPlace;
      const { suspend } = place;
      const pausing = gate.mode === "pause" && typeof suspend === "function";
      const call = await described(name, inputSchema, input, place, context?.abortSignal);
      // A step of a workflow has no id of its own that would be the same when it is resumed.
      if (pausing) call.callId ??= await stepId(name, input, place);
      const ruling = await gate.rule(call, pausing);
      if (!ruling.go) {
        if (!ruling.pending || !pausing) return ruling.result;
        // Whatever the run is resumed with, this function is called again, and asks Placet again.
        const { requestId: request = "", url = "" } = ruling.held ?? {};
        return suspend({ placet: { request, url, status: "pending" } });
      }
      const clean = gate.mode === "pause" ? unresumed(context) : context;
      return gate.run(ruling.held, (args) => checked(execute.call(tool, args, clean)));
    };
    const open = async (input: unknown, context?: Context): Promise<unknown> => {
      gate.only.check();
      return execute.call(tool, input, context);
    };
    const runs = gate.holds(name) ? mark(gated, "gated") : mark(open, "left out");
    return changed(tool, { execute: runs }) as T;
  };
  const named = (tool: object, key = "") => (tool as MastraTool).id ?? key;
  return {
    tool(tool) {
      gate.only.see(named(tool));
      gate.covers(toolsCoverage({ [named(tool)]: tool }), ADVICE);
      return one(tool, named(tool));
    },
    tools(tools) {
      gate.only.among(Object.entries(tools).map(([key, tool]) => named(tool, key)));
      gate.covers(toolsCoverage(tools), ADVICE);
      const gated = Object.entries(tools).map(([key, tool]) => [key, one(tool, named(tool, key))] as const);
      return Object.fromEntries(gated) as typeof tools;
    },
    agent: (agent) => guardedAgent(gate, agent, one),
    runs: (agent, given = {}) => new SuspendedRuns(gate, agent, given),
  };
}

async function described(
  name: string,
  inputSchema: unknown,
  input: unknown,
  place: CallPlace,
  signal: AbortSignal | undefined,
): Promise<ToolCall> {
  const { toolCallId, agentId, workflowId, threadId, resourceId } = place;
  const context: JsonObject = {
    ...(agentId ? { agent_id: agentId } : {}),
    ...(workflowId ? { workflow_id: workflowId } : {}),
  };
  return {
    tool: name,
    arguments: input,
    callId: toolCallId,
    session: threadId,
    user: resourceId,
    context,
    schema: await jsonSchema(inputSchema),
    check: editCheck(inputSchema),
    signal,
  };
}

/** The call of a tool by a workflow: the same run, tool and arguments are the same call. */
async function stepId(
  name: string,
  input: unknown,
  { workflowId, runId }: CallPlace,
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
  const without = <P extends CallPlace>(place: P): P => ({ ...place, resumeData: undefined });
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
