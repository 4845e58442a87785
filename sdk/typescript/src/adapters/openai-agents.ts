/**
 * OpenAI Agents SDK: `gate.tool({…})` in place of `tool({…})`. The SDK's own `tool` is passed in, so the adapter works
 * with the copy that the program uses and imports none.
 */
import { isOpenAIAgent, openaiCoverage, rememberAgent } from "../coverage/openai-agents.js";
import { mark } from "../coverage/report.js";
import { ConfigError } from "../errors.js";
import type { JsonObject, RequestRecord } from "../wire.js";
import { type AdapterOptions, changed, Gate, open, type ToolCall, why } from "./common.js";
import { jsonSchema } from "./schema.js";

export type { AdapterOptions } from "./common.js";
export { type OpenAIRunsOptions, storedRuns } from "./openai-runs.js";

interface Details {
  toolCall?: { callId?: string; arguments?: string };
  signal?: AbortSignal;
  resumeState?: string;
}
type Invoke = (context: unknown, input: string, details?: Details) => Promise<unknown>;

/** A function tool as `tool()` makes it. */
interface FunctionTool {
  type: string;
  name: string;
  parameters?: unknown;
  outputSchema?: unknown;
  invoke: Invoke;
  needsApproval?: unknown;
  isEnabled?: boolean | IsEnabled;
  timeoutMs?: number;
}
type IsEnabled = (context: unknown, agent: unknown) => boolean | Promise<boolean>;
/** What `tool()` takes. */
interface ToolOptions {
  execute?: (input: unknown, context?: unknown, details?: Details) => unknown;
  needsApproval?: unknown;
  errorFunction?: unknown;
  outputSchema?: unknown;
  timeoutMs?: number;
  timeoutBehavior?: string;
  timeoutErrorFunction?: (context: unknown, error: unknown, details?: Details) => unknown;
}

/** An interruption and a state, as `run()` returns them. */
interface Interruption {
  rawItem: unknown;
}
interface RawCall {
  name: string;
  callId: string;
  arguments: string;
}
interface State {
  getInterruptions(): Interruption[];
  approve(item: never): void;
  reject(item: never, options?: never): void;
}

export interface OpenAIOptions<F> extends AdapterOptions {
  /** `tool` of `@openai/agents`. */
  tool: F;
}

export interface OpenAIGate<F> {
  /** The SDK's `tool`, except that every call waits for its approval. */
  tool: F;
  /**
   * The same for a tool that exists already, of an MCP server for instance. An error that such a tool turns into text by
   * itself is reported as success, since nobody can tell.
   */
  wrap<T extends object>(tool: T): T;
  /**
   * `agent.asTool(options)`, for an agent whose own tools are gated. The SDK does not say which agent is behind a tool, so
   * one that is made without this counts as not covered.
   */
  asTool<A extends { asTool(options: never): object }>(agent: A, options?: object): ReturnType<A["asTool"]>;
  /**
   * For `mode: "pause"`: asks Placet about the interruptions of a state, and approves or rejects them there once all are
   * decided. False until then, and the state is as it was: keep it, and come back. After true, `run(agent, state)` goes
   * on; what runs is what the claim says.
   */
  decide(state: object): Promise<boolean>;
  /** For `mode: "pause"`: the requests of a state's interruptions, made now if they were not yet. */
  requests(state: object): Promise<readonly RequestRecord[]>;
  /** Whether a state is interrupted for tools of this gate. */
  interrupts(state: object): boolean;
}

export function createGate<F>(options: OpenAIOptions<F>): OpenAIGate<F> {
  const make = options.tool as unknown as (options: ToolOptions) => FunctionTool;
  if (typeof make !== "function") throw new ConfigError('pass tool: import { tool } from "@openai/agents"');
  const gate = new Gate("openai-agents", options, { tool: true }).named();
  /** By name: a state that was stored knows no more of a tool. */
  const known = new Map<string, FunctionTool>();
  /** What ran in place of calls that failed after an edit, by call, until the model is told. */
  const edits = new Map<string, string>();

  /** The SDK asks whether a tool is enabled before each turn of an agent: nothing of the agent has run by then. */
  const checked = (tool: FunctionTool): FunctionTool => {
    const { isEnabled } = tool;
    gate.only.see(tool.name);
    return changed(tool, {
      async isEnabled(context, agent) {
        gate.only.check();
        if (typeof agent === "object" && agent !== null && isOpenAIAgent(agent)) {
          gate.covers(
            openaiCoverage(agent),
            "Make its tools with gate.tool({…}), and leave out what cannot be held",
          );
        }
        return typeof isEnabled === "function" ? isEnabled(context, agent) : (isEnabled ?? true);
      },
    });
  };
  const leftOut = (tool: FunctionTool): FunctionTool => {
    mark(tool.invoke, "left out");
    return checked(tool);
  };

  /** Runs `inner` with the arguments that were approved, and with nothing else. */
  const held = async (
    inner: FunctionTool,
    context: unknown,
    input: unknown,
    details: Details | undefined,
  ) => {
    const call = await described(inner, input, details?.toolCall?.callId, details?.signal);
    const ruling = await gate.rule(call);
    if (!ruling.go) return ruling.result;
    try {
      return await gate.run(ruling.held, (args) => {
        const text = JSON.stringify(args);
        return inner.invoke(context, text, inner.timeoutMs === undefined ? details : renewed(details, text));
      });
    } catch (error) {
      const note = ruling.held.note();
      if (note !== undefined && call.callId !== undefined) edits.set(call.callId, JSON.stringify(note));
      throw error;
    }
  };

  /** The same, except that what the model is told of an error after an edit also says what ran: the SDK keeps errors quiet. */
  const telling = (invoke: Invoke): Invoke => {
    return async (context, input, details) => {
      const said = await invoke(context, input, details);
      const callId = details?.toolCall?.callId ?? "";
      const note = edits.get(callId);
      edits.delete(callId);
      if (note === undefined || typeof said !== "string" || said.includes(note)) return said;
      return `${said}\n${note}`;
    };
  };

  const gated = (given: ToolOptions): FunctionTool => {
    const { timeoutMs, timeoutBehavior, timeoutErrorFunction, outputSchema, ...rest } = given;
    // Throws what goes wrong, so that it can be reported. What the model is told of it is the outer tool's business.
    const inner = make({
      ...given,
      ...{ needsApproval: undefined, errorFunction: null, timeoutErrorFunction: undefined },
      ...(timeoutMs === undefined ? {} : { timeoutBehavior: "raise_exception" }),
    });
    if (!gate.holds(inner.name)) return leftOut(make(given));
    // Without the timeout: waiting for a person is not what it is about. Without the schema of the output: the inner
    // tool checks its own, and a refusal has another shape.
    const outer = make({
      ...rest,
      ...(gate.mode === "pause" ? { needsApproval: true } : {}),
      ...(outputSchema !== undefined && rest.errorFunction === undefined ? { errorFunction: null } : {}),
      async execute(parsed, context, details) {
        // As the model wrote it: parsed and converted it would be something else than what is approved.
        const written = details?.toolCall?.arguments ?? JSON.stringify(parsed);
        try {
          return await held(inner, context, read(written), details && renewed(details, written));
        } catch (error) {
          if ((error as Error | null)?.name !== "ToolTimeoutError" || timeoutBehavior === "raise_exception")
            throw error;
          if (timeoutErrorFunction) return timeoutErrorFunction(context, error, details);
          return `Tool '${inner.name}' timed out after ${timeoutMs}ms.`;
        }
      },
    });
    known.set(outer.name, inner);
    const { outputSchema: schema } = inner;
    const invoke = mark(telling(outer.invoke), "gated");
    return checked(changed(outer, { invoke, ...(schema === undefined ? {} : { outputSchema: schema }) }));
  };

  /** Tools that are not ours are somebody else's to answer for. */
  const interrupted = (target: object) => {
    if (known.size === 0)
      throw new ConfigError("no tool is gated yet: make the tools with gate.tool({…}) first");
    return (target as State).getInterruptions().flatMap((item) => {
      const { name, callId, arguments: input } = item.rawItem as RawCall;
      const tool = known.get(name);
      return tool ? [{ item: item as never, tool, callId, input: read(input) }] : [];
    });
  };
  const records = (asked: ReturnType<typeof interrupted>): Promise<RequestRecord[]> =>
    Promise.all(asked.map(async ({ tool, callId, input }) => gate.ask(await described(tool, input, callId))));

  return {
    tool: gated as unknown as F,
    wrap(original) {
      const tool = original as unknown as FunctionTool;
      if (tool.type !== "function" || typeof tool.invoke !== "function") {
        if (options.uncovered === "allow") return original;
        throw new ConfigError(
          'only function tools can be held: hosted tools run at the model\'s provider. Leave it out, or pass uncovered: "allow"',
        );
      }
      if (!gate.holds(tool.name)) return leftOut(tool) as unknown as typeof original;
      known.set(tool.name, tool);
      const invoke: Invoke = (context, input, details) => held(tool, context, read(input), details);
      const gatedTool = changed(tool, {
        invoke: mark(invoke, "gated"),
        ...(gate.mode === "pause" ? { needsApproval: async () => true } : {}),
        timeoutMs: undefined,
      });
      return checked(gatedTool) as unknown as typeof original;
    },
    asTool(agent, given = {}) {
      const tool = agent.asTool(given as never);
      rememberAgent(tool as FunctionTool, agent);
      return tool as ReturnType<typeof agent.asTool>;
    },
    interrupts: (target) => interrupted(target).length > 0,
    requests: async (target) => records(interrupted(target)),
    async decide(target) {
      const state = target as State;
      const asked = interrupted(state);
      const found = await records(asked);
      if (found.some((record) => record.state === "pending")) return false;
      for (const [at, record] of found.entries()) {
        const item = asked[at]?.item as never;
        if (open(record)) state.approve(item);
        else state.reject(item, { message: why(record) } as never);
      }
      return true;
    },
  };
}

async function described(
  tool: FunctionTool,
  input: unknown,
  callId: string | undefined,
  signal?: AbortSignal,
): Promise<ToolCall> {
  return { tool: tool.name, arguments: input, callId, signal, schema: await jsonSchema(tool.parameters) };
}

/** Details without the runner's mark that it sees to the timeout: here the tool does. */
function renewed(details: Details | undefined, written: string): Details {
  const { toolCall, signal, resumeState } = details ?? {};
  return { toolCall: { ...toolCall, arguments: written }, signal, resumeState };
}

/** The model's own text as arguments; what cannot be read is refused where it is asked about. */
function read(input: string | undefined): JsonObject | undefined {
  try {
    return input === undefined || input === "" ? {} : (JSON.parse(input) as JsonObject);
  } catch {
    return undefined;
  }
}
