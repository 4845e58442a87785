/** OpenAI Agents SDK: an agent, those it hands over to, and those that are its tools. */
import { type Coverage, Findings, HOSTED } from "./report.js";

interface Tool {
  type: string;
  name?: string;
  invoke?: unknown;
  /** Only an agent that is a tool has it. */
  on?: unknown;
}
interface Handoff {
  agent?: OpenAIAgent;
  agentName?: string;
  toolName?: string;
  inputJsonSchema?: { properties?: object };
}
export interface OpenAIAgent {
  name: string;
  tools: Tool[];
  handoffs: (OpenAIAgent | Handoff)[];
  mcpServers?: { name?: string }[];
  prompt?: unknown;
  modelSettings?: { providerData?: { tools?: unknown } };
  capabilities?: { type?: string }[];
}

/** Agents that `gate.asTool` made tools of, by the function of the tool: copies keep it. */
const agents = new WeakMap<object, OpenAIAgent>();

export function rememberAgent(tool: { invoke: object }, agent: object): void {
  agents.set(tool.invoke, agent as OpenAIAgent);
}

export function isOpenAIAgent(value: object): value is OpenAIAgent {
  const { tools, handoffs } = value as Partial<OpenAIAgent>;
  return Array.isArray(tools) && Array.isArray(handoffs);
}

const LOCAL = "it runs on this machine as the model asks, without a call that could be held";

export function openaiCoverage(agent: OpenAIAgent): Coverage {
  const found = new Findings("openai-agents", agent.name);
  look(agent, found, new Set());
  return found.report();
}

function look(agent: OpenAIAgent, found: Findings, seen: Set<OpenAIAgent>): void {
  if (seen.has(agent)) return;
  seen.add(agent);
  const at = { agent: agent.name };
  for (const tool of agent.tools) lookAtTool(tool, agent, found, seen);
  for (const { name = "an MCP server" } of agent.mcpServers ?? []) {
    found.misses(name, "mcp", "its tools do not go through the gate: gate.wrap those of getAllMcpTools", at);
  }
  for (const handoff of agent.handoffs) {
    const next = isOpenAIAgent(handoff) ? handoff : handoff.agent;
    if (!isOpenAIAgent(handoff) && Object.keys(handoff.inputJsonSchema?.properties ?? {}).length > 0) {
      const why = "its onHandoff runs with what the model says, and does not go through the gate";
      found.misses(String(handoff.toolName), "tool", why, at);
    }
    if (next && isOpenAIAgent(next)) look(next, found, seen);
    else found.misses(String((handoff as Handoff).agentName), "agent", "its tools are not known", at);
  }
  if (agent.prompt !== undefined) {
    found.misses("prompt", "hosted", "a prompt that is stored at the provider may bring tools", at);
  }
  if (agent.modelSettings?.providerData?.tools !== undefined) {
    found.misses("modelSettings.providerData.tools", "hosted", HOSTED, at);
  }
  for (const { type = "a capability" } of agent.capabilities ?? []) {
    found.misses(type, "tool", "a capability of a sandbox agent brings tools when the run starts", at);
  }
}

function lookAtTool(tool: Tool, agent: OpenAIAgent, found: Findings, seen: Set<OpenAIAgent>): void {
  const name = tool.name ?? tool.type;
  const at = { agent: agent.name };
  if (tool.type === "function") {
    const inner = typeof tool.invoke === "function" ? agents.get(tool.invoke) : undefined;
    if (inner) look(inner, found, seen);
    else if (typeof tool.on === "function") {
      // A gated agent tool is held as a whole. The agent behind another one is unknown.
      found.tool(
        name,
        tool.invoke,
        "an agent whose tools are not known: make it with gate.asTool(agent, {…})",
        agent.name,
      );
    } else
      found.tool(name, tool.invoke, "it was not made with gate.tool({…}) or gate.wrap(tool)", agent.name);
  } else if (["computer", "shell", "apply_patch"].includes(tool.type)) {
    const remote = (tool as { environment?: { type?: string } }).environment?.type?.startsWith("container");
    found.misses(name, remote ? "hosted" : "tool", remote ? HOSTED : LOCAL, at);
  } else found.misses(name, "hosted", HOSTED, at);
}
