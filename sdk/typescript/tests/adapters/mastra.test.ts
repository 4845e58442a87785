import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { createGate } from "placet/mastra";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { scripted } from "./ai-model.js";
import { type PausePlay, pauses, toPause } from "./pauses.js";
import { scenarios } from "./scenarios.js";
import {
  about,
  call,
  Effect,
  fresh,
  inSession,
  type ModelCall,
  onStage,
  type Play,
  type Told,
  type Tools,
} from "./stage.js";

const inputSchema = z.object({ files: z.array(z.string()) });

const outputSchema = z.any();

const made = (tools: Tools) =>
  Object.fromEntries(
    Object.entries(tools).map(([id, run]) => [
      id,
      createTool({
        id,
        description: `does ${id}`,
        inputSchema,
        outputSchema,
        execute: async (input) => run(input),
      }),
    ]),
  );
const agent = (id: string, turns: ModelCall[][], told: Told, parts: object) =>
  new Agent({
    id,
    name: id,
    description: id,
    instructions: "go",
    model: scripted(turns, told) as never,
    ...parts,
  });

async function run({ turns, tools, gate, signal }: Play): Promise<Told> {
  const told: Told = new Map();
  const bot = agent("bot", turns, told, { tools: createGate(gate).tools(made(tools)) });
  await bot.generate("go", { abortSignal: signal, maxSteps: 8 });
  return told;
}

async function streamed({ turns, tools, gate, signal }: Play): Promise<Told> {
  const told: Told = new Map();
  const bot = agent("bot", turns, told, { tools: createGate(gate).tools(made(tools)) });
  const result = await bot.stream("go", { abortSignal: signal, maxSteps: 8 });
  for await (const _ of result.fullStream);
  return told;
}

/** An agent that Mastra gives to another one as a tool. */
async function nested({ turns, tools, gate }: Play): Promise<Told> {
  const told: Told = new Map();
  const inner = agent("inner", turns, told, { tools: createGate(gate).tools(made(tools)) });
  const turn = [[{ id: fresh("delegate"), tool: "agent-inner", args: { prompt: "go" } }]];
  await agent("outer", turn, new Map(), { agents: { inner } }).generate("go", { maxSteps: 8 });
  return told;
}

/** The same with plain tools and the gate around the agent, whose own agent is the one that has them. */
async function whole({ turns, tools, gate, signal }: Play): Promise<Told> {
  const told: Told = new Map();
  const bot = createGate(gate).agent(agent("bot", turns, told, { tools: made(tools) }));
  await bot.generate("go", { abortSignal: signal, maxSteps: 8 });
  return told;
}

async function wholeNested({ turns, tools, gate }: Play): Promise<Told> {
  const told: Told = new Map();
  const inner = agent("inner", turns, told, { tools: made(tools) });
  const turn = [[{ id: fresh("delegate"), tool: "agent-inner", args: { prompt: "go" } }]];
  const outer = createGate(gate).agent(agent("outer", turn, new Map(), { agents: { inner } }));
  await outer.generate("go", { maxSteps: 8 });
  return told;
}

/** A run that is suspended, and going on as another process would: only the storage is the same. */
async function start({ session, turns, tools, gate }: PausePlay, inside = false, around = false) {
  const storage = new InMemoryStore();
  const begin = () => {
    const told: Told = new Map();
    const held = createGate(gate());
    const inner = agent("inner", turns, told, { tools: around ? made(tools) : held.tools(made(tools)) });
    const turn = [[{ id: `${session}-delegate`, tool: "agent-inner", args: { prompt: "go" } }]];
    const outer = inside ? agent("outer", turn, told, { agents: { inner } }) : inner;
    const bot = around ? held.agent(outer) : outer;
    return { told, bot: new Mastra({ agents: { bot }, storage, logger: false }).getAgent("bot") };
  };
  const first = await begin().bot.generate("go", { maxSteps: 8 });
  expect(first.finishReason).toBe("suspended");
  const said = { suspendPayload: { placet: { status: "pending" } } };
  expect(first.suspendPayload).toMatchObject(inside ? { suspendPayload: said } : said);
  // Without the id of a call, all that are suspended are called again. There is no resuming without an approval.
  const resume = async () => {
    const { told, bot } = begin();
    const options = { runId: first.runId ?? "", maxSteps: 8 };
    const { finishReason } = await bot.resumeGenerate({ approved: true }, options);
    if (finishReason === "suspended") return undefined;
    expect(finishReason).toBe("stop");
    return told;
  };
  return { resume, forge: resume };
}

scenarios({ name: "Mastra, generate", of: "Mastra", run, nested });
scenarios({ name: "Mastra, stream", of: "Mastra", run: streamed, nested });
pauses({
  name: "Mastra",
  of: "Mastra",
  start,
  nested: (play) => start(play, true),
  forged: "pauses again",
  piecemeal: true,
});

scenarios({ name: "Mastra, a whole agent", of: "Mastra", run: whole, nested: wholeNested });
pauses({
  name: "Mastra, a whole agent",
  of: "Mastra",
  start: (play) => start(play, false, true),
  nested: (play) => start(play, true, true),
  forged: "pauses again",
  piecemeal: true,
});

describe("Mastra", () => {
  const stage = onStage();

  test("a tool without execute is refused when it is gated", () => {
    const gate = createGate(stage.gate("none"));
    const client = createTool({ id: "ask", description: "asks", inputSchema });
    expect(() => gate.tools({ ask: client })).toThrow(/has no execute/);
  });

  const workflow = (session: string, effect: Effect, mode: "block" | "pause") => {
    const { delete_files } = createGate(stage.gate(session, { mode })).tools(
      made({ delete_files: effect.run }),
    );
    return createWorkflow({ id: "w", inputSchema, outputSchema })
      .then(createStep(delete_files as never))
      .commit();
  };

  test("a gated tool is held as a step of a workflow", async () => {
    const session = fresh("workflow");
    const effect = new Effect();
    const started = await workflow(session, effect, "block").createRun();
    const running = started.start({ inputData: { files: ["a.md"] } });
    await stage.ann.edit({ files: ["b.md"] }, inSession(session));
    expect(await running).toMatchObject({
      status: "success",
      result: { deleted: 1, placet: { edited: true } },
    });
    expect(effect.ran).toEqual([{ files: ["b.md"] }]);
    expect(await stage.states(session)).toEqual(["succeeded"]);
  });

  test("a step that is denied gives its refusal to the workflow", async () => {
    const session = fresh("workflow-deny");
    const effect = new Effect();
    const started = await workflow(session, effect, "block").createRun();
    const running = started.start({ inputData: { files: ["a.md"] } });
    await stage.ann.deny("no", inSession(session));
    expect(await running).toMatchObject({ status: "success", result: { status: "denied", reason: "no" } });
    expect(effect.ran).toEqual([]);
  });

  test("a workflow is suspended while nobody has decided, and the step runs once when somebody has", async () => {
    const session = fresh("workflow-pause");
    const effect = new Effect();
    const storage = new InMemoryStore();
    const begin = () => {
      const w = workflow(session, effect, "pause");
      return new Mastra({ workflows: { w }, storage, logger: false }).getWorkflow("w");
    };
    const first = await begin().createRun();
    expect((await first.start({ inputData: { files: ["a.md"] } })).status).toBe("suspended");
    const resume = async () =>
      (await begin().createRun({ runId: first.runId })).resume({ resumeData: { go: true } });
    expect((await resume()).status).toBe("suspended");
    expect(effect.ran).toEqual([]);
    await stage.ann.approve(inSession(session));
    expect(await resume()).toMatchObject({ status: "success", result: { deleted: 1 } });
    expect(effect.ran).toEqual([{ files: ["a.md"] }]);
    expect(await stage.states(session)).toEqual(["succeeded"]);
  });

  test("what ran beside a call that is still undecided does not run again", async () => {
    const session = fresh("pause-mixed");
    const effect = new Effect();
    const turns = [[call(session, 1, ["early.md"]), call(session, 2, ["late.md"])]];
    const { resume } = await start(toPause(stage, session, effect, turns));
    await stage.ann.approve(about(session, "early.md"));
    expect(await resume()).toBeUndefined();
    await stage.ann.approve(about(session, "late.md"));
    const told = await resume();
    expect(effect.ran).toEqual([{ files: ["early.md"] }, { files: ["late.md"] }]);
    expect(told?.get(`${session}-1`)).toContain("deleted");
    expect(told?.get(`${session}-2`)).toContain("deleted");
  });
});
