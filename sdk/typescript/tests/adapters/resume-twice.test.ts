/** Runs that pause twice, in stores of all frameworks: what happened before the second pause is still known after it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { Agent as MastraAgent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { Agent, tool as openaiTool, Runner, RunState, setTracingDisabled } from "@openai/agents";
import { tool as aiTool, generateText, isStepCount, type ModelMessage, streamText } from "ai";
import { createAgent, createMiddleware, tool as langchainTool, ToolMessage } from "langchain";
import * as ai from "placet/ai";
import * as langchain from "placet/langchain";
import * as mastra from "placet/mastra";
import * as openai from "placet/openai-agents";
import { FileStore, Resumer, type ResumeSource } from "placet/resume";
import { expect, test } from "vitest";
import { z } from "zod";
import { BOUND } from "../support/server.js";
import { scripted as aiModel } from "./ai-model.js";
import { scripted as langchainModel } from "./langchain-model.js";
import { scripted as openaiModel } from "./openai-model.js";
import { about, call, Effect, fresh, type ModelCall, onStage, type Told } from "./stage.js";

setTracingDisabled(true);
const stage = onStage();
const schema = z.object({ files: z.array(z.string()) });

interface Play {
  session: string;
  turns: ModelCall[][];
  told: Told;
  effect: Effect;
  folder: string;
}
/** A run that has paused for the first time, and where it is kept. */
type Begin = (play: Play) => Promise<ResumeSource>;

const aiRuns =
  (generate: (options: { messages: ModelMessage[] }) => PromiseLike<object>) =>
  async ({ session, turns, told, effect, folder }: Play) => {
    const { client } = stage.gate(session) as { client: ReturnType<typeof stage.server.agent> };
    const runs = ai.storedRuns<ModelMessage>({
      client,
      store: new FileStore(folder),
      open() {
        const gate = ai.createGate({ client, mode: "pause" });
        const delete_files = aiTool({ inputSchema: schema, execute: async (input) => effect.run(input) });
        const tools = gate.tools({ delete_files });
        const model = aiModel(turns, told);
        return {
          gate,
          generate: (messages) => generate({ model, tools, messages, stopWhen: isStepCount(8) } as never),
        };
      },
    });
    expect(await runs.start(session, [{ role: "user", content: "go" }])).toBeUndefined();
    return runs;
  };

const begins: { [framework: string]: Begin } = {
  "AI SDK, generateText": aiRuns((options) => generateText(options as never)),
  "AI SDK, streamText": aiRuns(async (options) => {
    const result = streamText({ ...options, onError: () => {} } as never);
    await result.consumeStream();
    return result;
  }),
  async "OpenAI Agents"({ session, turns, told, effect, folder }) {
    const client = stage.server.agent();
    const runner = new Runner({ tracingDisabled: true });
    const runs = openai.storedRuns({
      client,
      store: new FileStore(folder),
      RunState,
      run: (agent, input) => runner.run(agent, input),
      open() {
        const gate = openai.createGate({ client, tool: openaiTool, mode: "pause" });
        const execute = async (input: { files: string[] }) => effect.run(input);
        const held = gate.tool({ name: "delete_files", description: "d", parameters: schema, execute });
        return { gate, agent: new Agent({ name: "a", model: openaiModel(turns, told), tools: [held] }) };
      },
    });
    expect(await runs.start(session, "go")).toBeUndefined();
    return runs;
  },
  async LangGraph({ session, turns, told, effect }) {
    const client = stage.server.agent();
    const parts = { createMiddleware, ToolMessage, interrupt, client };
    const gate = langchain.createGate({ ...parts, mode: "pause" });
    const run = async (input: { files: string[] }) => JSON.stringify(effect.run(input));
    const tools = [langchainTool(run, { name: "delete_files", description: "d", schema })];
    const checkpointer = new MemorySaver();
    const model = langchainModel(turns, told);
    const agent = createAgent({ model, tools, middleware: [gate.middleware], checkpointer });
    const config = { configurable: { thread_id: session } };
    await agent.invoke({ messages: [{ role: "user", content: "go" }] }, config);
    return gate.threads({ agent, checkpointer, Command });
  },
  async Mastra({ session, turns, told, effect }) {
    const gate = mastra.createGate(stage.gate(session, { mode: "pause" }));
    const execute = async (input: { files: string[] }) => effect.run(input);
    const tools = gate.tools({
      delete_files: createTool({ id: "delete_files", description: "d", inputSchema: schema, execute }),
    });
    const model = aiModel(turns, told) as never;
    const bot = new MastraAgent({ id: "bot", name: "bot", instructions: "go", model, tools });
    const agent = new Mastra({ agents: { bot }, storage: new InMemoryStore(), logger: false }).getAgent(
      "bot",
    );
    await agent.generate("go", { maxSteps: 8 });
    return gate.runs(agent, { maxSteps: 8 });
  },
};

test.each(Object.keys(begins))(
  "%s: a run that pauses twice goes on twice, and knows what ran before",
  async (name) => {
    const session = fresh("twice");
    const [effect, told] = [new Effect(), new Map() as Told];
    const turns = [
      [call(session, 1, ["one.md"]), call(session, 2, ["two.md"])],
      [call(session, 3, ["three.md"])],
    ];
    const folder = await mkdtemp(join(tmpdir(), "placet-twice-"));
    const begin = begins[name] as Begin;
    const runs = await begin({ session, turns, told, effect, folder });
    const errors: unknown[] = [];
    const resumer = new Resumer(runs, { onError: (error) => errors.push(error) });
    const working = resumer.run();
    await stage.ann.approve(about(session, "one.md"));
    await stage.ann.edit({ files: ["edited.md"] }, about(session, "two.md"));
    await stage.ann.approve(about(session, "three.md"));
    await expect.poll(async () => [...(await runs.waiting())], { timeout: BOUND }).toEqual([]);
    await resumer.close();
    await working;
    expect(errors).toEqual([]);
    expect(effect.ran.map((each) => JSON.stringify(each)).sort()).toEqual(
      ["edited.md", "one.md", "three.md"].map((each) => JSON.stringify({ files: [each] })),
    );
    expect(told.get(`${session}-1`)).toContain("deleted");
    expect(told.get(`${session}-2`)).toMatch(/executed_arguments.*edited\.md/s);
    expect(told.get(`${session}-3`)).toContain("deleted");
    expect(await stage.states(session)).toEqual(["succeeded", "succeeded", "succeeded"]);
    await rm(folder, { recursive: true });
  },
);
