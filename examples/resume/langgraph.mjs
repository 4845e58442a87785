// LangGraph.js: threads of a checkpointer wait for a person, for hours if need be, and go on in whatever process is there.
//
//   PLACET_URL=… PLACET_TOKEN=plk_agent_… node langgraph.mjs FOLDER [RUN]…
import { join } from "node:path";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { Command, interrupt } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { createAgent, createMiddleware, tool } from "langchain";
import { createGate } from "placet/langchain";
import { fileLock, Resumer } from "placet/resume";
import { callId, description, done, folder, paused, refund, schema, wanted, work } from "./shop.mjs";

/** A model that follows a script, so that this runs offline: it asks for a refund, then repeats what it was told. */
class Scripted extends BaseChatModel {
  _llmType() {
    return "scripted";
  }
  bindTools() {
    return this;
  }
  async _generate(messages) {
    const [{ content: run }] = messages;
    const told = messages.find((each) => ToolMessage.isInstance(each));
    const call = { type: "tool_call", id: callId(run), name: "refund", args: wanted(run) };
    const message = new AIMessage(told ? { content: told.content } : { content: "", tool_calls: [call] });
    return { generations: [{ text: "", message }] };
  }
}

const checkpointer = SqliteSaver.fromConnString(join(folder, "threads.db"));
const gate = createGate({ createMiddleware, ToolMessage, interrupt, mode: "pause" });
const agent = createAgent({
  model: new Scripted({}),
  tools: [tool(refund, { name: "refund", description, schema })],
  middleware: [gate.middleware],
  checkpointer,
});

const config = (run) => ({ configurable: { thread_id: run }, durability: "sync" });
const threads = gate.threads({ agent, checkpointer, Command });
const resumer = new Resumer(threads, {
  lock: fileLock(join(folder, "locks")),
  async onResumed(run) {
    const { values, next } = await agent.graph.getState(config(run));
    if (next.length === 0) done(run, values.messages.at(-1).content);
  },
});
await work(threads, resumer, async (run) => {
  const result = await agent.invoke({ messages: [{ role: "user", content: run }] }, config(run));
  if (result.__interrupt__) paused(run, result.__interrupt__[0].value.placet.url);
  else done(run, result.messages.at(-1).content);
});
