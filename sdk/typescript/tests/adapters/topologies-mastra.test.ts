import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { createGate } from "placet/mastra";
import { describe, expect } from "vitest";
import { z } from "zod";
import { scripted } from "./ai-model.js";
import {
  about,
  call,
  Effect,
  fresh,
  type ModelCall,
  onStage,
  type Play,
  type Told,
  type Tools,
} from "./stage.js";
import { evidence, resumedForTwo, resumedTwice, type Several, topologies, twoOf } from "./topologies.js";
import { topology } from "./topology.js";

const inputSchema = z.object({ files: z.array(z.string()) });
const outputSchema = z.any();
const options = { maxSteps: 8 };

const made = (tools: Tools) =>
  Object.fromEntries(
    Object.entries(tools).map(([id, run]) => [
      id,
      createTool({ id, description: id, inputSchema, outputSchema, execute: async (input) => run(input) }),
    ]),
  );
const agent = (id: string, turns: ModelCall[][], told: Told, parts: object) =>
  new Agent({
    ...{ id, name: id, description: id, instructions: "go" },
    model: scripted(turns, told) as never,
    ...parts,
  });
const agentOf = (id: string, { turns, tools, gate }: Play) =>
  agent(id, turns, new Map(), { tools: createGate(gate).tools(made(tools)) });

async function streamed(play: Play, seen: (part: unknown) => void) {
  const result = await agentOf("bot", play).stream("go", options);
  for await (const part of result.fullStream) seen(part);
}

/** A workflow whose steps are agents. */
async function sequential({ turns: [first = [], second = []], ...rest }: Several) {
  const step = (id: string, turns: ModelCall[][]) => createStep(agentOf(id, { ...rest, turns }) as never);
  const workflow = createWorkflow({ id: "w", inputSchema: z.object({ prompt: z.string() }), outputSchema })
    .then(step("first", first) as never)
    .map(async ({ inputData }) => ({ prompt: (inputData as { text: string }).text }))
    .then(step("second", second) as never)
    .commit();
  const run = await workflow.createRun();
  expect((await run.start({ inputData: { prompt: "go" } })).status).toBe("success");
}

/** Agents that Mastra gives to agents as tools. */
function nest({ turns, tools, gate }: Several) {
  const held = createGate(gate);
  const told: Told = new Map();
  const one = ([own = [], ...inner]: ModelCall[][][]): Agent => {
    const mine = { tools: held.tools(made(tools)) };
    const id = `depth${turns.length - inner.length}`;
    if (inner.length === 0) return agent(id, own, told, mine);
    const last = { id: `${own[0]?.[0]?.id}-delegate`, tool: "agent-inner", args: { prompt: "go" } };
    return agent(id, [...own, [last]], told, { ...mine, agents: { inner: one(inner) } });
  };
  return { gate: held, bot: one(turns) };
}

topologies({
  of: "Mastra",
  run: (play) => agentOf("bot", play).generate("go", options),
  streamed,
  sequential,
  nested: (play) => nest(play).bot.generate("go", options),
});

describe("Mastra, topologies of its own", () => {
  const stage = onStage();

  topology("Mastra", "nested twice", "a run is suspended at each depth, and goes on", () =>
    resumedTwice(stage, async (play) => {
      const { gate, bot } = nest(play);
      const mastra = new Mastra({ agents: { bot }, storage: new InMemoryStore(), logger: false });
      await mastra.getAgent("bot").generate("go", options);
      return gate.runs(mastra.getAgent("bot"), options);
    }),
  );

  topology("Mastra", "workflow", "steps ask, beside each other and round by round", async () => {
    const session = fresh("workflow");
    const effect = new Effect();
    const tools = createGate(stage.gate(session)).tools(
      made({ delete_left: effect.run, delete_right: effect.run, delete_again: effect.run }),
    );
    const step = (name: keyof typeof tools) => createStep(tools[name] as never) as never;
    const counter = z.object({ rounds: z.number() });
    const round = createWorkflow({ id: "round", inputSchema: counter, outputSchema: counter })
      .map(async () => ({ files: ["again.md"] }))
      .then(step("delete_again"))
      .map(async ({ getInitData }) => ({ rounds: (getInitData() as { rounds: number }).rounds + 1 }))
      .commit();
    const workflow = createWorkflow({ id: "w", inputSchema, outputSchema })
      .parallel([step("delete_left"), step("delete_right")])
      .map(async () => ({ rounds: 0 }))
      .dountil(round as never, async ({ inputData }) => (inputData as { rounds: number }).rounds >= 3)
      .commit();
    const running = (await workflow.createRun()).start({ inputData: { files: ["both.md"] } });
    const of = (tool: string) => (record: { session?: string | null; tool?: string | null }) =>
      record.session === session && record.tool === tool;
    await stage.ann.deny("no", of("delete_right"));
    await stage.ann.approve(of("delete_left"));
    await stage.ann.edit({ files: ["edited.md"] }, of("delete_again"));
    await stage.ann.deny("no", of("delete_again"));
    await stage.ann.approve(of("delete_again"));
    expect((await running).status).toBe("success");
    return evidence(stage, session, effect);
  });

  topology("Mastra", "workflow", "a workflow is suspended at each step, and goes on", async () => {
    const session = fresh("workflow-pause");
    const effect = new Effect();
    const storage = new InMemoryStore();
    const names = ["delete_first", "delete_second", "delete_third"];
    const begin = () => {
      const gate = createGate(stage.gate(session, { mode: "pause" }));
      const tools = gate.tools(made(Object.fromEntries(names.map((name) => [name, effect.run]))));
      const w = createWorkflow({ id: "w", inputSchema, outputSchema });
      for (const name of names)
        w.map(async () => ({ files: [`${name}.md`] }), { id: `to-${name}` }).then(
          createStep(tools[name] as never) as never,
        );
      return new Mastra({ workflows: { w: w.commit() }, storage, logger: false }).getWorkflow("w");
    };
    const first = await begin().createRun();
    expect((await first.start({ inputData: { files: [] } })).status).toBe("suspended");
    /** As another process would. */
    const resume = async () =>
      (await (await begin().createRun({ runId: first.runId })).resume({ resumeData: { go: true } })).status;
    expect(await resume()).toBe("suspended");
    await stage.ann.approve(about(session, "delete_first.md"));
    expect(await resume()).toBe("suspended");
    await stage.ann.deny("no", about(session, "delete_second.md"));
    expect(await resume()).toBe("suspended");
    await stage.ann.edit({ files: ["edited.md"] }, about(session, "delete_third.md"));
    expect(await resume()).toBe("success");
    return evidence(stage, session, effect);
  });

  topology("Mastra", "two users with one session id", "suspended runs go on for their resource", () =>
    resumedForTwo(stage, async (resource, { session, turns, tools, gate: options }) => {
      const gate = createGate(options);
      const bot = agent("bot", turns, new Map(), { tools: gate.tools(made(tools)) });
      const mastra = new Mastra({ agents: { bot }, storage: new InMemoryStore(), logger: false });
      await mastra.getAgent("bot").generate("go", { maxSteps: 8, memory: { thread: session, resource } });
      return gate.runs(mastra.getAgent("bot"), { maxSteps: 8 });
    }),
  );

  topology("Mastra", "two users with one session id", "two resources of one thread are two", async () => {
    const session = fresh("users-resource");
    const gate = createGate({ client: stage.server.agent() });
    return twoOf(stage, session, [new Effect(), new Effect()], (resource, effect) => {
      const tools = gate.tools(made({ delete_files: effect.run }));
      const bot = agent("bot", [[call(session, 1, ["same.md"])]], new Map(), { tools });
      return bot.generate("go", { ...options, memory: { thread: session, resource } });
    });
  });
});
