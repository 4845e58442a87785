/** `coverage(agent)`: the gated and ungated tools of an agent. It imports no framework. */
import { aiCoverage, isAiAgent } from "./coverage/ai.js";
import { claudeCoverage, isClaudeOptions } from "./coverage/claude.js";
import { graphCoverage, isGraph, isLangChainAgent, langchainCoverage } from "./coverage/langchain.js";
import { isMastraAgent, mastraCoverage } from "./coverage/mastra.js";
import { isOpenAIAgent, openaiCoverage } from "./coverage/openai-agents.js";
import type { Coverage } from "./coverage/report.js";
import { ConfigError } from "./errors.js";

export { Coverage, type GatedTool, type UngatedKind, type UngatedTool } from "./coverage/report.js";

/**
 * Looks at an agent of any framework that has an adapter, and at what it can hand over to: an agent of the OpenAI Agents
 * SDK, LangChain, Mastra or the AI SDK, a set of AI SDK tools, a graph, or the options of Claude's `query`.
 */
export async function coverage(agent: object): Promise<Coverage> {
  if (typeof agent !== "object" || agent === null) throw new ConfigError("coverage takes an agent");
  if (isMastraAgent(agent)) return mastraCoverage(agent);
  if (isOpenAIAgent(agent)) return openaiCoverage(agent);
  if (isLangChainAgent(agent)) return langchainCoverage(agent);
  if (isAiAgent(agent)) return aiCoverage(agent);
  if (isGraph(agent)) return graphCoverage(agent);
  if (isToolSet(agent)) return aiCoverage(agent);
  if (isClaudeOptions(agent)) return claudeCoverage(agent);
  throw new ConfigError(
    "coverage knows agents of the AI SDK, LangChain, Mastra and OpenAI Agents, sets of tools, and options of Claude's query",
  );
}

function isToolSet(value: object): boolean {
  const tools = Object.values(value) as { inputSchema?: unknown; type?: unknown }[];
  return (
    tools.length > 0 &&
    tools.every(
      (tool) => typeof tool === "object" && tool !== null && ("inputSchema" in tool || "args" in tool),
    )
  );
}
