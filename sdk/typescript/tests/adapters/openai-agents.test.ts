import { Agent, Runner, RunState, setTracingDisabled, type Tool, tool } from "@openai/agents";
import { createGate } from "placet/openai-agents";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { BOUND } from "../support/server.js";
import { scripted } from "./openai-model.js";
import { type PausePlay, pauses } from "./pauses.js";
import { scenarios } from "./scenarios.js";
import { about, call, Effect, fresh, onStage, type Play, type Told, type Tools } from "./stage.js";

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

/** A run that is interrupted, and going on as another process would: a new gate and agent, the state from a database. */
async function start({ session, turns, tools, gate }: PausePlay, inside = false) {
  const begin = () => {
    const told: Told = new Map();
    const held = createGate({ tool, ...gate() });
    const model = scripted(turns, told);
    const inner = new Agent({ name: "inner", model, tools: made(held.tool, tools) });
    if (!inside) return { told, held, agent: inner };
    const delegate = inner.asTool({ toolName: "delegate", toolDescription: "hands it on" });
    const turn = [[{ id: `${session}-delegate`, tool: "delegate", args: { input: "go" } }]];
    const agent = new Agent({ name: "outer", model: scripted(turn, told), tools: [delegate] });
    return { told, held, agent };
  };
  const first = await runner.run(begin().agent, "go");
  expect(first.interruptions).toHaveLength(turns[0]?.length ?? 0);
  const kept = first.state.toString();
  const goOn = async (forge: boolean) => {
    const { told, held, agent } = begin();
    const state = await RunState.fromString(agent, kept);
    if (forge) for (const item of state.getInterruptions()) state.approve(item);
    else if (!(await held.decide(state))) return undefined;
    expect((await runner.run(agent, state)).finalOutput).toBe("done");
    return told;
  };
  const resume = () => goOn(false);
  // Nobody is asked before a process looks whether it is decided.
  expect(await resume()).toBeUndefined();
  return { resume, forge: () => goOn(true) };
}

scenarios({ name: "OpenAI Agents, run", of: "OpenAI Agents", run, nested });
scenarios({ name: "OpenAI Agents, streamed", of: "OpenAI Agents", run: streamed, nested: handedOff });
scenarios({ name: "OpenAI Agents, wrapped tools", of: "OpenAI Agents", run: wrapped, nested, raises: true });
pauses({
  name: "OpenAI Agents",
  of: "OpenAI Agents",
  start,
  nested: (play) => start(play, true),
  forged: "waits",
  repeatable: true,
});

describe("OpenAI Agents", () => {
  const stage = onStage();

  test("a tool's timeout does not count the time that a person takes", async () => {
    const session = fresh("timeout");
    const told: Told = new Map();
    const held = createGate({ tool, ...stage.gate(session) });
    const slow = held.tool({
      name: "delete_files",
      description: "slow",
      parameters,
      timeoutMs: 400,
      execute: async ({ files }) => (files.includes("slow.md") ? new Promise<string>(() => {}) : "ran"),
    });
    const turns = [[call(session, 1, ["quick.md"]), call(session, 2, ["slow.md"])]];
    const running = runner.run(new Agent({ name: "a", model: scripted(turns, told), tools: [slow] }), "go");
    // Both were asked for at the same time. When one has timed out, the other has waited longer than its timeout.
    await stage.ann.pending(about(session, "quick.md"));
    await stage.ann.approve(about(session, "slow.md"));
    await expect.poll(() => stage.states(session), { timeout: BOUND }).toContain("failed");
    await stage.ann.approve(about(session, "quick.md"));
    await running;
    expect(told.get(`${session}-1`)).toBe("ran");
    expect(told.get(`${session}-2`)).toContain("timed out after 400ms");
    expect((await stage.states(session)).sort()).toEqual(["failed", "succeeded"]);
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

  test("what policy allows goes on at once after a pause", async () => {
    const session = fresh("pause-free");
    const effect = new Effect();
    const gate = createGate({ tool, ...stage.gate(session, { mode: "pause" }) });
    const turns = [[call(session, 1, [], "free_read")]];
    const tools = made(gate.tool, { free_read: effect.run });
    const agent = new Agent({ name: "a", model: scripted(turns, new Map()), tools });
    const first = await runner.run(agent, "go");
    expect(await gate.decide(first.state)).toBe(true);
    await runner.run(agent, first.state);
    expect(effect.ran).toHaveLength(1);
  });
});
