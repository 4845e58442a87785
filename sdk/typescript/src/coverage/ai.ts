/** Vercel AI SDK: a set of tools, or a `ToolLoopAgent`. */
import { type Coverage, ELSEWHERE, Findings, HOSTED, marked } from "./report.js";

interface AiTool {
  type?: string;
  isProviderExecuted?: boolean;
  execute?: unknown;
}
type Tools = Record<string, AiTool>;
interface AiAgent {
  id?: string;
  settings: { id?: string; model?: unknown; prepareCall?: unknown; tools?: Tools; providerOptions?: unknown };
}

/** Why a tool cannot be held, or nothing. */
export function outside(tool: AiTool): { kind: "hosted" | "client"; why: string } | undefined {
  if (tool.isProviderExecuted === true) return { kind: "hosted", why: HOSTED };
  if (typeof tool.execute === "function") return undefined;
  return tool.type?.startsWith("provider") === true
    ? { kind: "hosted", why: HOSTED }
    : { kind: "client", why: ELSEWHERE };
}

/** Names of MCP servers that the provider itself is told to call. */
export function remoteServers(providerOptions: unknown): string[] {
  const providers = Object.values((providerOptions ?? {}) as Record<string, { mcpServers?: unknown } | null>);
  return providers
    .flatMap((each) => (Array.isArray(each?.mcpServers) ? (each.mcpServers as { name?: unknown }[]) : []))
    .map(({ name }) => String(name ?? "an MCP server"));
}

export const NOT_WRAPPED = "it is not among the tools that gate.tools({…}) returned";

export function isAiAgent(value: object): value is AiAgent {
  const { settings, version } = value as { settings?: unknown; version?: unknown };
  return typeof settings === "object" && settings !== null && String(version).startsWith("agent-");
}

export function aiCoverage(given: object): Coverage {
  const agent = isAiAgent(given) ? given : undefined;
  const found = new Findings("ai-sdk", agent?.settings.id ?? "tools");
  for (const [name, tool] of Object.entries(agent ? (agent.settings.tools ?? {}) : (given as Tools))) {
    const why = outside(tool);
    if (why) found.misses(name, why.kind, why.why);
    else found.tool(name, tool.execute, NOT_WRAPPED);
  }
  for (const name of remoteServers(agent?.settings.providerOptions)) found.misses(name, "mcp", HOSTED);
  const { model, prepareCall } = agent?.settings ?? {};
  if (prepareCall !== undefined && marked((model as { doGenerate?: unknown })?.doGenerate) !== "gated") {
    found.misses(
      "prepareCall",
      "dynamic",
      "it may add tools for one call; gate.model(model) looks at each call",
    );
  }
  return found.report();
}
