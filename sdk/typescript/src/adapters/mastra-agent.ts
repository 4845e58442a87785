/** A whole agent of Mastra: whatever it may call in a run goes through the gate. */
import { isMastraAgent, type MastraAgent, type MastraTool, rememberHolding } from "../coverage/mastra.js";
import { ELSEWHERE, Findings, HOSTED, mark, marked } from "../coverage/report.js";
import { ConfigError } from "../errors.js";
import type { Gate } from "./common.js";

export const ADVICE = "Leave it out, or give it an execute";

type Tools = Record<string, MastraTool>;
/** Tools of an agent have lost their schema; it is given beside them. */
type Hold = (tool: MastraTool, name: string, schema?: unknown) => MastraTool;
/** Where tools of one run come from, besides the agent. */
interface ToolSources {
  requestContext?: unknown;
  toolsets?: Record<string, Tools>;
  clientTools?: Tools;
}

/**
 * Replaces the functions of an agent that gather what it may call: there is one place where all of it comes together.
 * The agent itself stays the same object, for it has private parts.
 */
export function guardedAgent<A extends object>(gate: Gate, given: A, hold: Hold): A {
  if (!isMastraAgent(given)) {
    throw new ConfigError("gate.agent takes an Agent of @mastra/core; this is none that can be looked into");
  }
  if (marked(given.convertTools) !== "gated") guard(gate, given, hold);
  return given;
}

function guard(gate: Gate, agent: MastraAgent, hold: Hold): void {
  const { convertTools, listAgents } = agent;
  const guarded = (inner: Record<string, object> = {}) => {
    for (const each of Object.values(inner)) if (isMastraAgent(each)) guardedAgent(gate, each, hold);
    return inner;
  };
  const convert = async (sources: ToolSources): Promise<Tools> => {
    const { requestContext, toolsets, clientTools } = sources;
    const raw: Tools = { ...(await agent.listTools({ requestContext })) };
    Object.assign(raw, ...Object.values(toolsets ?? {}), clientTools);
    const inner = (await agent.listAgents?.({ requestContext })) ?? {};
    const all = await convertTools.call(agent, sources);
    const named = (key: string) => raw[key]?.id ?? key;
    gate.only.see(...Object.keys(all).map(named), ...(await innerTools(agent, new Set())));
    gate.only.check();
    const found = new Findings("mastra", agent.id ?? agent.name ?? "agent");
    const gated: Tools = {};
    for (const [key, tool] of Object.entries(all)) {
      const delegate = key.startsWith("agent-") ? inner[key.slice("agent-".length)] : undefined;
      // Asked about by the tools of the agent that it calls, or by the tool itself.
      const asked = (delegate && isMastraAgent(delegate)) || marked(raw[key]?.execute) !== undefined;
      gated[key] = asked ? tool : hold(tool, named(key), raw[key]?.inputSchema ?? tool.parameters);
      if (typeof tool.execute === "function") continue;
      const provider = tool.type?.startsWith("provider") === true;
      found.misses(named(key), provider ? "hosted" : "client", provider ? HOSTED : ELSEWHERE);
    }
    gate.covers(found.report(), ADVICE);
    return gated;
  };
  rememberHolding(mark(convert, "gated"), (tool) => gate.holds(tool));
  const own = agent as unknown as Record<string, (...args: unknown[]) => unknown>;
  own.convertTools = convert as never;
  own.listAgents = (args) => {
    const found = listAgents?.call(agent, args as object);
    const later = typeof (found as PromiseLike<unknown> | undefined)?.then === "function";
    return later
      ? (found as Promise<Record<string, object>>).then(guarded)
      : guarded(found as Record<string, object>);
  };
  refuseNetwork(gate, agent, own);
  const { __fork: fork } = own;
  if (fork) own.__fork = () => guardedAgent(gate, fork.call(agent) as MastraAgent, hold);
}

/** Names of the tools of all agents that an agent can call: `only` may name them too. */
async function innerTools(agent: MastraAgent, seen: Set<object>): Promise<string[]> {
  if (seen.has(agent)) return [];
  seen.add(agent);
  const inner = Object.values((await agent.listAgents?.()) ?? {}).filter(isMastraAgent);
  const names = inner.map(async (each) => [
    ...Object.entries((await each.listTools()) ?? {}).map(([key, tool]) => tool.id ?? key),
    ...Object.keys((await each.listWorkflows?.()) ?? {}).map((key) => `workflow-${key}`),
    ...(await innerTools(each, seen)),
  ]);
  return (await Promise.all(names)).flat();
}

/** A network calls tools and workflows by another way, which is not looked into. */
function refuseNetwork(
  gate: Gate,
  agent: MastraAgent,
  own: Record<string, (...args: unknown[]) => unknown>,
): void {
  const { network } = own;
  if (!network) return;
  own.network = async (...args) => {
    const found = new Findings("mastra", agent.id ?? agent.name ?? "agent");
    found.misses("network", "dynamic", "it calls tools and workflows by a way of its own");
    gate.covers(found.report(), "Gate the tools themselves with gate.tools({…})");
    return network.apply(agent, args);
  };
}
