/** What the examples of the documentation declare and do not make: models that follow a script, and a few tools. */

const usage = `{ inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } }`;

/** A model of the AI SDK that asks for a refund, then repeats what it was told. */
const AI_MODEL = `
import { MockLanguageModelV4 } from "ai/test";
const usage = ${usage};
const said = (prompt) => {
  const told = prompt.flatMap(({ content }) => (Array.isArray(content) ? content : [])).find(({ type }) => type === "tool-result");
  const call = { type: "tool-call", toolCallId: "c-" + process.pid, toolName: "refund", input: '{"order":"o-1"}' };
  const finishReason = { unified: told ? "stop" : "tool-calls", raw: undefined };
  return { told: told && JSON.stringify(told.output), call, finishReason };
};
globalThis.model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const { told, call, finishReason } = said(prompt);
    return { content: told ? [{ type: "text", text: told }] : [call], finishReason, usage, warnings: [] };
  },
  doStream: async ({ prompt }) => {
    const { told, call, finishReason } = said(prompt);
    const text = [{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: told }, { type: "text-end", id: "t" }];
    const parts = [{ type: "stream-start", warnings: [] }, ...(told ? text : [call]), { type: "finish", finishReason, usage }];
    return { stream: ReadableStream.from(parts) };
  },
});
`;

const AI = `
import { tool } from "ai";
import { z } from "zod";
${AI_MODEL}
const inputSchema = z.object({ order: z.string() });
globalThis.refund = tool({ inputSchema, execute: async ({ order }) => "refunded " + order });
globalThis.lookup = tool({ inputSchema, execute: async ({ order }) => "found " + order });
globalThis.messages = [
  { role: "user", content: "o-1 arrived broken" },
  {
    role: "assistant",
    content: [
      { type: "tool-call", toolCallId: "c-1", toolName: "refund", input: { order: "o-1" } },
      { type: "tool-approval-request", approvalId: "a-1", toolCallId: "c-1" },
    ],
  },
];
`;

const LANGCHAIN = `
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, ToolMessage } from "@langchain/core/messages";
class Scripted extends BaseChatModel {
  _llmType() { return "scripted"; }
  bindTools() { return this; }
  async _generate(messages) {
    const told = messages.find((each) => ToolMessage.isInstance(each));
    const call = { type: "tool_call", id: "c-" + process.pid, name: "refund", args: { order: "o-1" } };
    const message = new AIMessage(told ? { content: told.content } : { content: "", tool_calls: [call] });
    return { generations: [{ text: "", message }] };
  }
}
globalThis.model = new Scripted({});
`;

const OPENAI = `
import { setTracingDisabled, Usage } from "@openai/agents";
setTracingDisabled(true);
globalThis.model = {
  async getResponse({ input }) {
    const told = typeof input === "string" ? undefined : input.find((item) => item.type === "function_call_result");
    const call = { type: "function_call", callId: "c-" + process.pid, name: "refund", status: "completed", arguments: '{"order":"o-1"}' };
    const text = { type: "output_text", text: JSON.stringify(told?.output) };
    const message = { type: "message", role: "assistant", status: "completed", content: [text] };
    return { usage: new Usage(), output: [told ? message : call] };
  },
};
`;

const MASTRA = `
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
${AI_MODEL}
const inputSchema = z.object({ order: z.string() });
globalThis.tools = {
  refund: createTool({ id: "refund", description: "r", inputSchema, execute: async ({ order }) => "refunded " + order }),
};
`;

/** By the page that needs it. */
export const DECLARED: { [page: string]: string } = {
  "vercel-ai.md": AI,
  "langchain-js.md": LANGCHAIN,
  "openai-agents-js.md": OPENAI,
  "mastra.md": MASTRA,
  "claude-agent-sdk-js.md": "",
};
