// Mastra: suspended runs of an agent wait in its storage for a person, and go on in whatever process is there.
//
//   PLACET_URL=… PLACET_TOKEN=plk_agent_… node mastra.mjs FOLDER [RUN]…
import { join } from "node:path";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { createTool } from "@mastra/core/tools";
import { LibSQLStore } from "@mastra/libsql";
import { MockLanguageModelV4 } from "ai/test";
import { createGate } from "placet/mastra";
import { fileLock, Resumer } from "placet/resume";
import { callId, description, done, folder, paused, refund, schema, wanted, work } from "./shop.mjs";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model that follows a script, so that this runs offline: it asks for a refund, then repeats what it was told. */
const answer = (prompt) => {
  const parts = prompt.flatMap(({ role, content }) =>
    role !== "system" && Array.isArray(content) ? content : [],
  );
  const run = parts.find(({ type }) => type === "text").text;
  const told = parts.find(({ type }) => type === "tool-result");
  const input = JSON.stringify(wanted(run));
  const call = { type: "tool-call", toolCallId: callId(run), toolName: "refund", input };
  return { told: told && JSON.stringify(told.output), call };
};
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const { told, call } = answer(prompt);
    const content = told ? [{ type: "text", text: told }] : [call];
    const finishReason = { unified: told ? "stop" : "tool-calls", raw: undefined };
    return { content, finishReason, usage, warnings: [] };
  },
  doStream: async ({ prompt }) => {
    const { told, call } = answer(prompt);
    const finishReason = { unified: told ? "stop" : "tool-calls", raw: undefined };
    const text = [
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: told },
      { type: "text-end", id: "t" },
    ];
    const parts = [
      { type: "stream-start", warnings: [] },
      ...(told ? text : [call]),
      { type: "finish", finishReason, usage },
    ];
    return { stream: ReadableStream.from(parts) };
  },
});

const gate = createGate({ session: "shop", mode: "pause" });
const tools = gate.tools({
  refund: createTool({ id: "refund", description, inputSchema: schema, execute: refund }),
});
const storage = new LibSQLStore({ id: "runs", url: `file:${join(folder, "runs.db")}` });
const shop = new Agent({ id: "shop", name: "shop", instructions: "Look after the shop.", model, tools });
const agent = new Mastra({ agents: { shop }, storage, logger: false }).getAgent("shop");

const runs = gate.runs(agent, { maxSteps: 9, onDone: (run, { text }) => done(run, text) });
const resumer = new Resumer(runs, { lock: fileLock(join(folder, "locks")) });
await work(runs, resumer, async (run) => {
  const { finishReason, text } = await agent.generate(run, { runId: run, maxSteps: 9 });
  if (finishReason === "suspended") paused(run);
  else done(run, text);
});
