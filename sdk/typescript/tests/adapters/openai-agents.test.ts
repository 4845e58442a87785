import { Agent, Runner, RunState, setTracingDisabled, type Tool, tool } from "@openai/agents";
import { createGate } from "placet/openai-agents";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { scripted } from "./openai-model.js";
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

setTracingDisabled(true);
const parameters = z.object({ files: z.array(z.string()) });
const runner = new Runner({ tracingDisabled: true });

type Make = typeof tool;
const made = (make: Make, tools: Tools): Tool[] =>
  Object.entries(tools).map(([name, run]) =>
    make({ name, description: `does ${name}`, parameters, execute: async (input) => run(input) }),
  );

async function run({ turns, tools, gate, signal }: Play): Promise<Told> {
  const told: Told = new Map();
  const held = createGate({ tool, ...gate });
  const agent = new Agent({ name: "a", model: scripted(turns, told), tools: made(held.tool, tools) });
  await runner.run(agent, "go", { signal });
  return told;
}

async function streamed({ turns, tools, gate, signal }: Play): Promise<Told> {
  const told: Told = new Map();
  const held = createGate({ tool, ...gate });
  const agent = new Agent({ name: "a", model: scripted(turns, told), tools: made(held.tool, tools) });
  const result = await runner.run(agent, "go", { stream: true, signal });
  for await (const _ of result);
  await result.completed;
  return told;
}

/** An agent that is a tool of another one. */
async function nested({ turns, tools, gate }: Play): Promise<Told> {
  const told: Told = new Map();
  const held = createGate({ tool, ...gate });
  const inner = new Agent({ name: "inner", model: scripted(turns, told), tools: made(held.tool, tools) });
  const delegate = inner.asTool({ toolName: "delegate", toolDescription: "hands it on" });
  const turn = [[{ id: fresh("delegate"), tool: "delegate", args: { input: "go" } }]];
  await runner.run(new Agent({ name: "outer", model: scripted(turn, new Map()), tools: [delegate] }), "go");
  return told;
}

/** An agent to which the conversation is handed over. */
async function handedOff({ turns, tools, gate }: Play): Promise<Told> {
  const told: Told = new Map();
  const held = createGate({ tool, ...gate });
  const inner = new Agent({ name: "inner", model: scripted(turns, told), tools: made(held.tool, tools) });
  const turn = [[{ id: fresh("handoff"), tool: "transfer_to_inner", args: {} }]];
  await runner.run(new Agent({ name: "outer", model: scripted(turn, new Map()), handoffs: [inner] }), "go");
  return told;
}

/** Tools that exist already, as those of an MCP server do. */
async function wrapped({ turns, tools, gate, signal }: Play): Promise<Told> {
  const told: Told = new Map();
  const held = createGate({ tool, ...gate });
  const existing = Object.entries(tools).map(([name, run]) =>
    tool({ name, description: name, parameters, errorFunction: null, execute: async (input) => run(input) }),
  );
  const agent = new Agent({
    name: "a",
    model: scripted(turns, told),
    tools: existing.map((each) => held.wrap(each)),
  });
  await runner.run(agent, "go", { signal });
  return told;
}

scenarios({ name: "OpenAI Agents, run", run, nested });
scenarios({ name: "OpenAI Agents, streamed", run: streamed, nested: handedOff });
scenarios({ name: "OpenAI Agents, wrapped tools", run: wrapped, nested, raises: true });

describe("OpenAI Agents", () => {
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

  test("a tool's timeout does not count the time that a person takes", async () => {
    const session = fresh("timeout");
    const told: Told = new Map();
    const held = createGate({ tool, ...stage.gate(session) });
    const slow = held.tool({
      name: "delete_files",
      description: "slow",
      parameters,
      timeoutMs: 400,
      execute: async ({ files }) => {
        await new Promise((done) => setTimeout(done, files.includes("slow.md") ? 1_500 : 10));
        return "ran";
      },
    });
    const turns = [[call(session, 1, ["quick.md"]), call(session, 2, ["slow.md"])]];
    const running = runner.run(new Agent({ name: "a", model: scripted(turns, told), tools: [slow] }), "go");
    await new Promise((done) => setTimeout(done, 800));
    await stage.ann.approve(about(session, "quick.md"));
    await stage.ann.approve(about(session, "slow.md"));
    await running;
    expect(told.get(`${session}-1`)).toBe("ran");
    expect(told.get(`${session}-2`)).toContain("timed out after 400ms");
    expect((await stage.states(session)).sort()).toEqual(["failed", "succeeded"]);
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

  test("a tool with a schema for its output can be refused", async () => {
    const session = fresh("output");
    const told: Told = new Map();
    const held = createGate({ tool, ...stage.gate(session) });
    const strict = held.tool({
      name: "delete_files",
      description: "strict",
      parameters,
      outputSchema: z.object({ deleted: z.number() }),
      execute: async ({ files }) => ({ deleted: files.length }),
    });
    const turns = [[call(session, 1, ["yes.md"]), call(session, 2, ["no.md"])]];
    const running = runner.run(new Agent({ name: "a", model: scripted(turns, told), tools: [strict] }), "go");
    await stage.ann.approve(about(session, "yes.md"));
    await stage.ann.deny("no", about(session, "no.md"));
    await running;
    expect(told.get(`${session}-1`)).toContain('"deleted":1');
    expect(told.get(`${session}-2`)).toContain("denied");
  });

  test("hosted tools are refused when they are wrapped", () => {
    const gate = createGate({ tool, ...stage.gate("s") });
    expect(() => gate.wrap({ type: "hosted_tool", name: "web_search" })).toThrow(/hosted tools run at/);
  });

  describe("pausing", () => {
    const paused = async (session: string, turns: ModelCall[][], effect: Effect, inside = false) => {
      const told: Told = new Map();
      const begin = () => {
        const gate = createGate({ tool, ...stage.gate(session, { mode: "pause" }) });
        const tools = made(gate.tool, { delete_files: effect.run });
        const inner = new Agent({ name: "inner", model: scripted(turns, told), tools });
        if (!inside) return { gate, agent: inner };
        const delegate = inner.asTool({ toolName: "delegate", toolDescription: "hands it on" });
        const turn = [[{ id: `${session}-delegate`, tool: "delegate", args: { input: "go" } }]];
        return {
          gate,
          agent: new Agent({ name: "outer", model: scripted(turn, new Map()), tools: [delegate] }),
        };
      };
      const { agent } = begin();
      const first = await runner.run(agent, "go");
      const kept = first.state.toString();
      /** As another process would: a new gate, client and agent, the state from a database. */
      const resume = async (forge = false) => {
        const { gate, agent } = begin();
        const state = await RunState.fromString(agent, kept);
        if (forge) for (const item of state.getInterruptions()) state.approve(item);
        else if (!(await gate.decide(state))) return undefined;
        return runner.run(agent, state);
      };
      // The first process asks, and finds it undecided.
      const open = await resume();
      return { first, told, resume, open };
    };

    test("a run ends while nobody has decided, and goes on in another process when somebody has", async () => {
      const session = fresh("pause");
      const effect = new Effect();
      const { first, told, resume, open } = await paused(session, [[call(session, 1, ["a.md"])]], effect);
      expect(first.interruptions).toHaveLength(1);
      expect(open).toBeUndefined();
      await stage.ann.approve(inSession(session));
      await resume();
      expect(effect.ran).toEqual([{ files: ["a.md"] }]);
      expect(told.get(`${session}-1`)).toContain("deleted");
      // Resumed twice, it runs once.
      await resume();
      expect(effect.ran).toHaveLength(1);
      expect(told.get(`${session}-1`)).toContain("unknown");
      expect(await stage.states(session)).toEqual(["succeeded"]);
    });

    test("a state that was approved by somebody else does not run what Placet denies", async () => {
      const session = fresh("pause-forged");
      const effect = new Effect();
      const { told, resume } = await paused(session, [[call(session, 1, ["a.md"])]], effect);
      await stage.ann.deny("not this year", inSession(session));
      await resume(true);
      expect(effect.ran).toEqual([]);
      expect(told.get(`${session}-1`)).toContain("not this year");
      await resume();
      expect(effect.ran).toEqual([]);
      expect(told.get(`${session}-1`)).toContain("not this year");
    });

    test("a state that was approved before anybody decided only waits", async () => {
      const session = fresh("pause-early");
      const effect = new Effect();
      const { resume } = await paused(session, [[call(session, 1, ["a.md"])]], effect);
      const running = resume(true);
      await new Promise((done) => setTimeout(done, 500));
      expect(effect.ran).toEqual([]);
      await stage.ann.approve(inSession(session));
      await running;
      expect(effect.ran).toHaveLength(1);
    });

    test("an edit is what runs after the pause, which the SDK itself has no word for", async () => {
      const session = fresh("pause-edit");
      const effect = new Effect();
      const { told, resume } = await paused(session, [[call(session, 1, ["a.md"])]], effect);
      await stage.ann.edit({ files: ["b.md"] }, inSession(session));
      await resume();
      expect(effect.ran).toEqual([{ files: ["b.md"] }]);
      expect(told.get(`${session}-1`)).toContain("executed_arguments");
    });

    test("two calls of one turn pause together, and each has its own decision", async () => {
      const session = fresh("pause-two");
      const effect = new Effect();
      const turns = [[call(session, 1, ["yes.md"]), call(session, 2, ["no.md"])]];
      const { first, told, resume } = await paused(session, turns, effect);
      expect(first.interruptions).toHaveLength(2);
      await stage.ann.approve(about(session, "yes.md"));
      expect(await resume()).toBeUndefined();
      await stage.ann.deny("no", about(session, "no.md"));
      await resume();
      expect(effect.ran).toEqual([{ files: ["yes.md"] }]);
      expect(told.get(`${session}-2`)).toContain("no");
    });

    test("what policy allows goes on at once", async () => {
      const session = fresh("pause-free");
      const effect = new Effect();
      const gate = createGate({ tool, ...stage.gate(session, { mode: "pause" }) });
      const turns = [[{ id: `${session}-1`, tool: "free_read", args: { files: [] } }]];
      const tools = made(gate.tool, { free_read: effect.run });
      const agent = new Agent({ name: "a", model: scripted(turns, new Map()), tools });
      const first = await runner.run(agent, "go");
      expect(await gate.decide(first.state)).toBe(true);
      await runner.run(agent, first.state);
      expect(effect.ran).toHaveLength(1);
    });

    test("an agent inside an agent pauses both, and both go on", async () => {
      const session = fresh("pause-nested");
      const effect = new Effect();
      const { first, told, resume } = await paused(session, [[call(session, 1, ["a.md"])]], effect, true);
      expect(first.interruptions).toHaveLength(1);
      await stage.ann.approve(inSession(session));
      const last = await resume();
      expect(effect.ran).toEqual([{ files: ["a.md"] }]);
      expect(told.get(`${session}-1`)).toContain("deleted");
      expect(last?.finalOutput).toBe("done");
    });
  });
});
