/** Mastra: an agent with its tools, agents and workflows. */
import { type Coverage, ELSEWHERE, Findings, HOSTED, marked } from "./report.js";

export interface MastraTool {
  id?: string;
  type?: string;
  execute?: unknown;
  inputSchema?: unknown;
  /** What becomes of the schema in an agent. */
  parameters?: unknown;
}
type Group<T> = Record<string, T> | undefined | PromiseLike<Record<string, T> | undefined>;
export interface MastraAgent {
  id?: string;
  name?: string;
  convertTools(args: object): Promise<Record<string, MastraTool>>;
  listTools(args?: object): Group<MastraTool>;
  listAgents?(args?: object): Group<object>;
  listWorkflows?(args?: object): Group<object>;
  hasOwnMemory?(): boolean;
  hasOwnWorkspace?(): boolean;
  hasOwnBrowser?(): boolean;
}

/** What else brings tools. */
const BRINGS = [
  ["hasOwnMemory", "memory"],
  ["hasOwnWorkspace", "workspace"],
  ["hasOwnBrowser", "browser"],
] as const;

export function isMastraAgent(value: object): value is MastraAgent {
  const { convertTools, listTools } = value as Partial<MastraAgent>;
  return typeof convertTools === "function" && typeof listTools === "function";
}

/** The gate of an agent that `gate.agent` was given, by the function that was put into it. */
const holding = new WeakMap<object, (tool: string) => boolean>();

export function rememberHolding(convertTools: object, holds: (tool: string) => boolean): void {
  holding.set(convertTools, holds);
}

/** Tools by themselves: those that cannot be held. */
export function toolsCoverage(tools: Record<string, object>): Coverage {
  const found = new Findings("mastra", "tools");
  for (const [key, each] of Object.entries(tools)) {
    const tool = each as MastraTool;
    if (typeof tool.execute === "function") found.holds(tool.id ?? key);
    else unheld(tool, tool.id ?? key, found);
  }
  return found.report();
}

function unheld(tool: MastraTool, name: string, found: Findings, agent?: string): void {
  if (tool.type?.startsWith("provider")) found.misses(name, "hosted", HOSTED, { agent });
  else found.misses(name, "client", ELSEWHERE, { agent });
}

export async function mastraCoverage(agent: MastraAgent): Promise<Coverage> {
  const found = new Findings("mastra", agent.id ?? agent.name ?? "agent");
  await look(agent, found, new Set());
  return found.report();
}

async function look(agent: MastraAgent, found: Findings, seen: Set<object>): Promise<void> {
  if (seen.has(agent)) return;
  seen.add(agent);
  const name = agent.id ?? agent.name ?? "agent";
  const at = { agent: name };
  const whole = marked(agent.convertTools) === "gated";
  const holds = holding.get(agent.convertTools) ?? (() => whole);
  const local = (tool: string, runs: unknown) => {
    if (marked(runs) !== undefined || !whole) {
      found.tool(tool, runs, "it went neither through gate.tools({…}) nor gate.agent(agent)", name);
    } else if (holds(tool)) found.holds(tool, name);
    else found.misses(tool, "tool", "left out by `only`", { ...at, chosen: true });
  };
  for (const [key, tool] of Object.entries((await agent.listTools()) ?? {})) {
    if (typeof tool.execute === "function") local(tool.id ?? key, tool.execute);
    else unheld(tool, tool.id ?? key, found, name);
  }
  for (const [key, inner] of Object.entries((await agent.listAgents?.()) ?? {})) {
    if (isMastraAgent(inner)) await look(inner, found, seen);
    else if (whole) local(`agent-${key}`, undefined);
    else found.misses(`agent-${key}`, "agent", "an agent elsewhere, whose tools are not known", at);
  }
  for (const key of Object.keys((await agent.listWorkflows?.()) ?? {})) local(`workflow-${key}`, undefined);
  for (const [has, brings] of BRINGS) {
    if (whole || agent[has]?.() !== true) continue;
    found.misses(
      brings,
      "dynamic",
      "it brings tools when a run starts, and only gate.agent(agent) sees them",
      at,
    );
  }
}
