import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { coverage } from "placet";
import { createGate } from "placet/mastra";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { approve, deny, Gateway, type Word } from "../../src/testing/index.js";
import { scripted } from "./ai-model.js";
import { call, Effect, fresh, type ModelCall, type Told } from "./stage.js";

const inputSchema = z.object({ files: z.array(z.string()) });
const outputSchema = z.any();

function stage(more: object = {}, decide: () => Word = approve) {
  const session = fresh("coverage");
  const gateway = new Gateway({ decide });
  const [held, open] = [new Effect(), new Effect()];
  const made = (id: string, effect: Effect) =>
    createTool({
      id,
      description: id,
      inputSchema,
      outputSchema,
      execute: async (input) => effect.run(input),
    });
  const refund = made("refund", held);
  const lookup = made("lookup", open);
  const gate = createGate({ client: gateway.client(), session, ...more });
  const told: Told = new Map();
  const both = [[call(session, 1, ["a"], "refund"), call(session, 2, ["b"], "lookup")]];
  const agent = (parts: object, turns: ModelCall[][] = both, id = "ops") =>
    new Agent({
      id,
      name: id,
      description: id,
      instructions: "go",
      model: scripted(turns, told) as never,
      ...parts,
    });
  const ran = () => [held.ran.length, open.ran.length];
  const asked = () => gateway.requests.map(({ tool }) => tool).sort();
  return { session, gate, refund, lookup, agent, ran, asked, told, open };
}

describe("Mastra, a whole agent", () => {
  test("holds tools that were gated before and tools that were not, each once", async () => {
    const { gate, refund, lookup, agent, ran, asked } = stage();
    const ops = gate.agent(agent({ tools: { ...gate.tools({ refund }), lookup } }));
    await ops.generate("go", { maxSteps: 4 });
    expect(ran()).toEqual([1, 1]);
    expect(asked()).toEqual(["lookup", "refund"]);
    expect((await coverage(ops)).gated.map(({ name }) => name)).toEqual(["refund", "lookup"]);
  });

  test("holds a toolset that takes the place of a gated tool", async () => {
    const { gate, refund, agent, ran, asked, session, lookup, open } = stage({}, () => deny("no"));
    const turns = [[call(session, 1, ["a"], "refund")]];
    const ops = gate.agent(agent({ tools: gate.tools({ refund, lookup }) }, turns));
    const other = createTool({
      id: "refund",
      description: "",
      inputSchema,
      outputSchema,
      execute: async (i) => open.run(i),
    });
    await ops.generate("go", { maxSteps: 4, toolsets: { more: { refund: other } } });
    expect(ran()).toEqual([0, 0]);
    expect(asked()).toEqual(["refund"]);
  });

  test("holds workflows, and what streams", async () => {
    const { gate, lookup, agent, ran, asked, session } = stage({}, () => deny("no"));
    const workflow = createWorkflow({ id: "work", description: "works", inputSchema, outputSchema })
      .then(createStep(lookup as never))
      .commit();
    const args = { inputData: { files: ["a"] } };
    const turns = [[{ id: `${session}-1`, tool: "workflow-work", args }]];
    const ops = gate.agent(agent({ workflows: { work: workflow } }, turns));
    const result = await ops.stream("go", { maxSteps: 4 });
    for await (const _ of result.fullStream);
    expect(ran()).toEqual([0, 0]);
    expect(asked()).toEqual(["workflow-work"]);
  });

  test("holds the tools of its agents", async () => {
    const { gate, refund, lookup, agent, ran, asked } = stage({}, () => deny("no"));
    const inner = agent({ tools: { refund, lookup } }, undefined, "inner");
    const turn = [[{ id: fresh("delegate"), tool: "agent-inner", args: { prompt: "go" } }]];
    const outer = gate.agent(agent({ agents: { inner } }, turn));
    await outer.generate("go", { maxSteps: 4 });
    expect(ran()).toEqual([0, 0]);
    expect(asked()).toEqual(["lookup", "refund"]);
    expect((await coverage(outer)).gated).toMatchObject([{ agent: "inner" }, { agent: "inner" }]);
  });

  test("does not start with tools that run elsewhere, and has no network", async () => {
    const { gate, refund, lookup, agent, ran, asked } = stage();
    const ask = createTool({ id: "ask", description: "asks", inputSchema });
    const ops = gate.agent(agent({ tools: { refund, lookup } }));
    const running = ops.generate("go", { clientTools: { ask } });
    await expect(running).rejects.toThrow(/ask \(it has no execute: it runs elsewhere/);
    const search = {
      type: "provider" as const,
      id: "openai.web_search" as const,
      args: {},
      isProviderExecuted: true as const,
      inputSchema: z.object({}),
    };
    const hosted = gate.agent(agent({ tools: { refund, lookup, search } })).generate("go");
    await expect(hosted).rejects.toThrow(/openai.web_search \(it runs at the model's provider/);
    expect(() => gate.tools({ refund, search })).toThrow(/openai.web_search \(it runs at/);
    await expect(ops.network("go")).rejects.toThrow(
      /network \(it calls tools and workflows by a way of its own/,
    );
    expect([ran(), asked()]).toEqual([[0, 0], []]);
  });

  test("with a misspelt name it does not start; names of its agents' tools are names", async () => {
    const { gate, refund, lookup, agent, ran, asked } = stage({ only: ["refnd"] });
    await expect(gate.agent(agent({ tools: { refund, lookup } })).generate("go")).rejects.toThrow(
      /only names refnd, which is not among the tools: .*Did you mean refund/,
    );
    expect([ran(), asked()]).toEqual([[0, 0], []]);
    const right = stage({ only: ["refund"] });
    const inner = right.agent({ tools: { refund: right.refund, lookup: right.lookup } }, undefined, "inner");
    const turn = [[{ id: fresh("delegate"), tool: "agent-inner", args: { prompt: "go" } }]];
    await right.gate.agent(right.agent({ agents: { inner } }, turn)).generate("go", { maxSteps: 4 });
    expect([right.ran(), right.asked()]).toEqual([[1, 1], ["refund"]]);
  });
});

describe("Mastra, single tools", () => {
  test("a misspelt name is an error, for one tool when the first is called", async () => {
    const { gate, refund, lookup, agent, ran, asked, told, session } = stage({ only: ["refnd"] });
    expect(() => gate.tools({ refund, lookup })).toThrow(/only names refnd.*Did you mean refund/);
    const ops = agent({ tools: { refund: gate.tool(refund), lookup: gate.tool(lookup) } });
    await ops.generate("go", { maxSteps: 4 });
    expect([ran(), asked()]).toEqual([[0, 0], []]);
    expect(told.get(`${session}-2`)).toMatch(/only names refnd/);
  });

  test("coverage lists what did not go through the gate, and what brings tools of its own", async () => {
    const { gate, refund, lookup, agent } = stage();
    const inner = agent({ tools: { lookup } }, undefined, "inner");
    const workflow = createWorkflow({ id: "work", inputSchema, outputSchema })
      .then(createStep(lookup as never))
      .commit();
    const ops = agent({ tools: gate.tools({ refund }), agents: { inner }, workflows: { work: workflow } });
    const found = await coverage(ops);
    expect(found.gated).toEqual([{ name: "refund", agent: "ops" }]);
    expect(found.uncovered.map(({ name, agent }) => `${name} of ${agent}`)).toEqual([
      "lookup of inner",
      "workflow-work of ops",
    ]);
  });

  test("an unknown option is an error", () => {
    expect(() => stage({ onOutage: "allow" })).toThrow(/createGate has no option "onOutage"/);
    expect(() => stage({ sesion: "s" })).toThrow(/did you mean "session"/);
  });
});
