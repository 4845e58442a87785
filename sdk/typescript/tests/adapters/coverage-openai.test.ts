import {
  Agent,
  applyPatchTool,
  codeInterpreterTool,
  computerTool,
  handoff,
  hostedMcpTool,
  Runner,
  setTracingDisabled,
  shellTool,
  type Tool,
  tool,
  webSearchTool,
} from "@openai/agents";
import { SandboxAgent } from "@openai/agents/sandbox";
import { coverage } from "placet";
import { createGate } from "placet/openai-agents";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { approve, Gateway } from "../../src/testing/index.js";
import { scripted } from "./openai-model.js";
import { call, Effect, fresh } from "./stage.js";

setTracingDisabled(true);
const runner = new Runner({ tracingDisabled: true });
const parameters = z.object({ files: z.array(z.string()) });

/** A gate with a tool of its own, an ungated one, and a model that calls both. */
function stage(more: object = {}) {
  const session = fresh("coverage");
  const gateway = new Gateway({ decide: approve });
  const [held, open] = [new Effect(), new Effect()];
  const gate = createGate({ tool, client: gateway.client(), session, ...more });
  const parts = (effect: Effect, name: string) => ({
    name,
    description: name,
    parameters,
    execute: async (input: { files: string[] }) => effect.run(input),
  });
  const gated = () => gate.tool(parts(held, "refund")) as Tool;
  const plain = () => tool(parts(open, "lookup")) as Tool;
  const turns = [[call(session, 1, ["a"], "refund"), call(session, 2, ["b"], "lookup")]];
  const told = new Map<string, string>();
  const agent = (tools: Tool[], rest: object = {}) =>
    new Agent({ name: "ops", model: scripted(turns, told), tools, ...rest });
  const nothing = () => {
    expect([held.ran, open.ran, gateway.requests, told.size]).toEqual([[], [], [], 0]);
  };
  return { gate, gateway, gated, plain, agent, held, open, parts, nothing };
}

describe("OpenAI Agents, what is not held", () => {
  const computer = {
    environment: "browser",
    dimensions: [1, 1],
    screenshot: async () => "",
    click: async () => {},
    doubleClick: async () => {},
    drag: async () => {},
    keypress: async () => {},
    move: async () => {},
    scroll: async () => {},
    type: async () => {},
    wait: async () => {},
  };
  const editor = { createFile: async () => {}, updateFile: async () => {}, deleteFile: async () => {} };
  const strange: [string, () => { tools?: Tool[]; rest?: object }][] = [
    ["web_search", () => ({ tools: [webSearchTool()] })],
    ["code_interpreter", () => ({ tools: [codeInterpreterTool()] })],
    ["hosted_mcp", () => ({ tools: [hostedMcpTool({ serverLabel: "x", serverUrl: "http://x" })] })],
    ["computer", () => ({ tools: [computerTool({ computer: computer as never })] })],
    ["shell", () => ({ tools: [shellTool({ shell: { run: async () => ({ output: [] }) } })] })],
    ["apply_patch", () => ({ tools: [applyPatchTool({ editor: editor as never })] })],
    [
      "files",
      () => ({ rest: { mcpServers: [{ name: "files", cacheToolsList: false, listTools: async () => [] }] } }),
    ],
    ["prompt", () => ({ rest: { prompt: { promptId: "p" } } })],
    [
      "modelSettings.providerData.tools",
      () => ({ rest: { modelSettings: { providerData: { tools: [{ type: "web_search" }] } } } }),
    ],
  ];

  test.each(strange)("an agent with %s does not start", async (name, made) => {
    const { gated, agent, nothing } = stage();
    const { tools = [], rest } = made();
    const running = runner.run(agent([gated(), ...tools], rest), "go");
    await expect(running).rejects.toThrow(
      new RegExp(`would run without being asked about: ${name}.*uncovered: "allow"`),
    );
    nothing();
  });

  test("a tool made with the SDK's own function beside gated ones is one of them", async () => {
    const { gated, plain, agent, nothing } = stage();
    await expect(runner.run(agent([gated(), plain()]), "go")).rejects.toThrow(
      /lookup \(it was not made with/,
    );
    nothing();
  });

  test("so are the tools of an agent that it hands over to, however it does", async () => {
    const { gated, plain, agent, nothing } = stage();
    const other = new Agent({ name: "other", tools: [plain(), webSearchTool()] });
    for (const handoffs of [[other], [handoff(other)], [new Agent({ name: "between", handoffs: [other] })]]) {
      const running = runner.run(agent([gated()], { handoffs }), "go");
      await expect(running).rejects.toThrow(/lookup of other .*; web_search of other/);
    }
    nothing();
  });

  test("so is a function that runs when the model hands over, with what the model says", async () => {
    const { gated, agent, nothing } = stage();
    const other = new Agent({ name: "other", tools: [gated()] });
    const inputType = z.object({ why: z.string() });
    const handoffs = [handoff(other, { inputType, onHandoff: () => expect.unreachable() })];
    const running = runner.run(agent([gated()], { handoffs }), "go");
    await expect(running).rejects.toThrow(/transfer_to_other .*its onHandoff runs with what the model says/);
    nothing();
  });

  test("so is an agent that is a tool, unless the gate made it one and has its tools", async () => {
    const { gate, gated, plain, agent, nothing } = stage();
    const inner = new Agent({ name: "inner", tools: [plain()] });
    const options = { toolName: "delegate", toolDescription: "hands it on" };
    const unknown = runner.run(agent([gated(), inner.asTool(options)]), "go");
    await expect(unknown).rejects.toThrow(/delegate \(an agent whose tools are not known/);
    const known = runner.run(agent([gated(), gate.asTool(inner, options)]), "go");
    await expect(known).rejects.toThrow(/lookup of inner/);
    const good = new Agent({ name: "good", tools: [gated()] });
    const delegate = gate.asTool(good, options);
    expect((await coverage(agent([gated(), delegate]))).complete).toBe(true);
    nothing();
  });

  test('with uncovered: "allow" it starts, and what is gated is held', async () => {
    const { gated, plain, agent, held, open, gateway } = stage({ uncovered: "allow" });
    await runner.run(agent([gated(), plain()]), "go");
    expect([held.ran.length, open.ran.length]).toEqual([1, 1]);
    expect(gateway.requests.map(({ tool }) => tool)).toEqual(["refund"]);
  });

  test("the capabilities of a sandbox agent are listed", async () => {
    const { gated } = stage();
    const { uncovered } = await coverage(new SandboxAgent({ name: "box", tools: [gated()] as never }));
    expect(uncovered.map(({ name }) => name)).toEqual(expect.arrayContaining(["shell"]));
  });

  test("a name in `only` that is no tool is an error at the first turn, and nothing runs", async () => {
    const { gate, agent, parts, held, open, nothing } = stage({ only: ["refnd"] });
    const tools = [gate.tool(parts(held, "refund")), gate.wrap(tool(parts(open, "lookup")))] as Tool[];
    await expect(runner.run(agent(tools), "go")).rejects.toThrow(
      /only names refnd, which is not among the tools: refund, lookup. Did you mean refund/,
    );
    nothing();
  });

  test("tools that `only` leaves out run, and are listed as left out", async () => {
    const { gate, agent, parts, held, open } = stage({ only: ["refund"] });
    const tools = [gate.tool(parts(held, "refund")), gate.tool(parts(open, "lookup"))] as Tool[];
    const ops = agent(tools);
    const found = await coverage(ops);
    expect(JSON.parse(JSON.stringify(found))).toEqual({
      framework: "openai-agents",
      agent: "ops",
      complete: true,
      gated: [{ name: "refund", agent: "ops" }],
      ungated: [{ name: "lookup", agent: "ops", kind: "tool", why: "left out by `only`", chosen: true }],
    });
    expect(String(found)).toBe(
      "ops (openai-agents): 1 gated, 1 not\n  gated      refund\n  left out   lookup: left out by `only`",
    );
    await runner.run(ops, "go");
    expect([held.ran.length, open.ran.length]).toEqual([1, 1]);
  });

  test("an unknown option is an error", () => {
    expect(() => stage({ onOutage: "allow" })).toThrow(/createGate has no option "onOutage"/);
    expect(() => stage({ mod: "pause" })).toThrow(/did you mean "mode"/);
    expect(() => stage({ mode: "wait" })).toThrow(/mode must be "block" or "pause", not "wait"/);
    expect(() => stage({ uncovered: "yes" })).toThrow(/uncovered must be/);
    expect(() => stage({ risk: "hihg" })).toThrow(/risk must be/);
    expect(() => stage({ only: [] })).toThrow(/only is an empty list/);
    expect(() => stage({ only: "refund" })).toThrow(/only must be a list/);
  });
});
