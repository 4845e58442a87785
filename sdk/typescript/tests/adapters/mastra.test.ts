import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { createGate } from "placet/mastra";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { scripted } from "./ai-model.js";
import { scenarios } from "./scenarios.js";
import {
  about,
  Effect,
  fresh,
  inSession,
  type ModelCall,
  type Play,
  Stage,
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

scenarios({ name: "Mastra, generate", run, nested });
scenarios({ name: "Mastra, stream", run: streamed, nested });

describe("Mastra", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage?.close());
  const call = (session: string, at: number, files: string[]): ModelCall => ({
    id: `${session}-${at}`,
    tool: "delete_files",
    args: { files },
  });

  test("an edit that the tool's schema does not take is refused by the server", async () => {
    const session = fresh("misfit");
    const effect = new Effect();
    const running = run({
      turns: [[call(session, 1, ["a.md"])]],
      tools: { delete_files: effect.run },
      gate: stage.gate(session),
    });
    await expect(stage.ann.edit({ files: "all" }, inSession(session))).rejects.toThrow(/422/);
    await stage.ann.approve(inSession(session));
    await running;
    expect(effect.ran).toEqual([{ files: ["a.md"] }]);
  });

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

  describe("pausing", () => {
    const paused = async (session: string, turns: ModelCall[][], effect: Effect, inside = false) => {
      const storage = new InMemoryStore();
      const told: Told = new Map();
      /** As another process would: a new gate, client and agent; only the storage is the same. */
      const begin = () => {
        const tools = createGate(stage.gate(session, { mode: "pause" })).tools(
          made({ delete_files: effect.run }),
        );
        const inner = agent("inner", turns, told, { tools });
        const turn = [[{ id: `${session}-delegate`, tool: "agent-inner", args: { prompt: "go" } }]];
        const bot = inside ? agent("outer", turn, new Map(), { agents: { inner } }) : inner;
        return new Mastra({ agents: { bot }, storage, logger: false }).getAgent("bot");
      };
      const first = await begin().generate("go", { maxSteps: 8 });
      // Without the id of a call, all that are suspended are called again.
      const resume = () =>
        begin().resumeGenerate({ approved: true }, { runId: first.runId ?? "", maxSteps: 8 });
      return { first, told, resume };
    };

    test("a run ends while nobody has decided, and goes on in another process when somebody has", async () => {
      const session = fresh("pause");
      const effect = new Effect();
      const { first, told, resume } = await paused(session, [[call(session, 1, ["a.md"])]], effect);
      expect(first.finishReason).toBe("suspended");
      expect(first.suspendPayload).toMatchObject({ suspendPayload: { placet: { status: "pending" } } });
      // Resumed with an approval that nobody gave, it pauses again.
      expect((await resume()).finishReason).toBe("suspended");
      expect(effect.ran).toEqual([]);
      await stage.ann.approve(inSession(session));
      expect((await resume()).finishReason).toBe("stop");
      expect(effect.ran).toEqual([{ files: ["a.md"] }]);
      expect(told.get(`${session}-1`)).toContain("deleted");
      expect(await stage.states(session)).toEqual(["succeeded"]);
    });

    test("a denial reaches the model, whatever the run is resumed with", async () => {
      const session = fresh("pause-deny");
      const effect = new Effect();
      const { told, resume } = await paused(session, [[call(session, 1, ["a.md"])]], effect);
      await stage.ann.deny("not this year", inSession(session));
      await resume();
      expect(effect.ran).toEqual([]);
      expect(told.get(`${session}-1`)).toContain("not this year");
    });

    test("an edit is what runs after the pause", async () => {
      const session = fresh("pause-edit");
      const effect = new Effect();
      const { told, resume } = await paused(session, [[call(session, 1, ["a.md"])]], effect);
      await stage.ann.edit({ files: ["b.md"] }, inSession(session));
      await resume();
      expect(effect.ran).toEqual([{ files: ["b.md"] }]);
      expect(told.get(`${session}-1`)).toContain("executed_arguments");
    });

    test("two calls of one turn pause, and each has its own decision", async () => {
      const session = fresh("pause-two");
      const effect = new Effect();
      const turns = [[call(session, 1, ["yes.md"]), call(session, 2, ["no.md"])]];
      const { told, resume } = await paused(session, turns, effect);
      await stage.ann.approve(about(session, "yes.md"));
      await stage.ann.deny("no", about(session, "no.md"));
      expect((await resume()).finishReason).toBe("stop");
      expect(effect.ran).toEqual([{ files: ["yes.md"] }]);
      expect(told.get(`${session}-1`)).toContain("deleted");
      expect(told.get(`${session}-2`)).toContain("denied");
    });

    test("what ran beside a call that is still undecided does not run again", async () => {
      const session = fresh("pause-mixed");
      const effect = new Effect();
      const turns = [[call(session, 1, ["early.md"]), call(session, 2, ["late.md"])]];
      const { told, resume } = await paused(session, turns, effect);
      await stage.ann.approve(about(session, "early.md"));
      expect((await resume()).finishReason).toBe("suspended");
      await stage.ann.approve(about(session, "late.md"));
      expect((await resume()).finishReason).toBe("stop");
      expect(effect.ran).toEqual([{ files: ["early.md"] }, { files: ["late.md"] }]);
      expect(told.get(`${session}-1`)).toContain("deleted");
      expect(told.get(`${session}-2`)).toContain("deleted");
    });

    test("an agent inside an agent pauses both, and both go on", async () => {
      const session = fresh("pause-nested");
      const effect = new Effect();
      const { first, told, resume } = await paused(session, [[call(session, 1, ["a.md"])]], effect, true);
      expect(first.finishReason).toBe("suspended");
      expect(effect.ran).toEqual([]);
      await stage.ann.approve(inSession(session));
      expect((await resume()).finishReason).toBe("stop");
      expect(effect.ran).toEqual([{ files: ["a.md"] }]);
      expect(told.get(`${session}-1`)).toContain("deleted");
    });
  });
});
