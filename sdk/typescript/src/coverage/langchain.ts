/** LangChain.js: an agent of `createAgent`, or a graph with tool nodes. */
import { type Coverage, Findings, HOSTED, marked } from "./report.js";

interface Middleware {
  name?: string;
  tools?: unknown[];
  wrapToolCall?: unknown;
  wrapModelCall?: unknown;
}
interface Agent {
  options: { name?: string; tools?: unknown[]; middleware?: Middleware[] };
  graph: unknown;
}
interface Graph {
  name?: string;
  nodes: Record<string, { bound?: unknown }>;
}

/** Tools that LangChain itself runs; everything else is a description for the provider. */
export function isLocal(tool: unknown): tool is { name: string } {
  return typeof (tool as { invoke?: unknown } | null)?.invoke === "function";
}

export function hostedName(tool: unknown): string {
  const { name, type, ...rest } = (tool ?? {}) as {
    name?: unknown;
    type?: unknown;
    function?: { name?: unknown };
  };
  return String(name ?? rest.function?.name ?? type ?? Object.keys(tool as object)[0] ?? "a tool");
}

export function isLangChainAgent(value: object): value is Agent {
  const { options, graph } = value as Partial<Agent>;
  return typeof options === "object" && options !== null && typeof graph === "object";
}

export function isGraph(value: object): value is Graph {
  const { nodes, invoke } = value as { nodes?: unknown; invoke?: unknown };
  return typeof nodes === "object" && nodes !== null && typeof invoke === "function";
}

export function langchainCoverage(agent: Agent): Coverage {
  const { tools = [], middleware = [], name = "agent" } = agent.options;
  const found = new Findings("langchain", name);
  const gate = middleware.findIndex(({ wrapToolCall }) => marked(wrapToolCall) === "gated");
  for (const tool of [...tools, ...middleware.flatMap((each) => each.tools ?? [])]) {
    if (!isLocal(tool)) found.misses(hostedName(tool), "hosted", HOSTED);
    else if (gate < 0) found.misses(tool.name, "tool", "the agent has no gate.middleware");
    else if (holds(middleware[gate], tool.name)) found.holds(tool.name);
    else found.misses(tool.name, "tool", "left out by `only`", { chosen: true });
  }
  for (const { name: before = "a middleware", wrapToolCall } of middleware.slice(0, Math.max(0, gate))) {
    if (wrapToolCall === undefined) continue;
    found.misses(before, "middleware", "it stands before the gate, and can run a tool without it");
  }
  const looks = middleware.findLastIndex(({ wrapModelCall }) => marked(wrapModelCall) === "gated");
  for (const { name: after = "a middleware", wrapModelCall } of middleware.slice(looks + 1)) {
    if (gate < 0 || wrapModelCall === undefined) continue;
    found.misses(
      after,
      "middleware",
      "it can add tools of the provider behind the gate: put gate.guard last",
    );
  }
  return found.report();
}

/** Of a plain graph: what its tool nodes run. */
export function graphCoverage(graph: Graph): Coverage {
  const found = new Findings("langchain", graph.name ?? "graph");
  for (const [node, { bound }] of Object.entries(graph.nodes)) {
    const { tools } = (bound ?? {}) as { tools?: unknown };
    if (!Array.isArray(tools)) continue;
    const why = `the node ${node} runs it without a middleware; a gate inside its function is not seen`;
    for (const tool of tools) found.misses(hostedName(tool), isLocal(tool) ? "tool" : "hosted", why);
  }
  return found.report();
}

/** Whether the gate of a middleware holds a tool. */
const holding = new WeakMap<object, (tool: string) => boolean>();

export function rememberHolding(wrapToolCall: object, holds: (tool: string) => boolean): void {
  holding.set(wrapToolCall, holds);
}

function holds(middleware: Middleware | undefined, tool: string): boolean {
  return holding.get(middleware?.wrapToolCall as object)?.(tool) ?? true;
}
