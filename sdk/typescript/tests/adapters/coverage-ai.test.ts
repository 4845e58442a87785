import { dynamicTool, generateText, isStepCount, jsonSchema, streamText, ToolLoopAgent, tool } from "ai";
import { coverage } from "placet";
import { createGate } from "placet/ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { approve, Gateway } from "../../src/testing/index.js";
import { scripted } from "./ai-model.js";
import { call, Effect, fresh } from "./stage.js";

const inputSchema = z.object({ files: z.array(z.string()) });
const stopWhen = isStepCount(4);
/** As `anthropic.tools.codeExecution_20250825()` makes it. */
const hosted = {
  type: "provider" as const,
  id: "anthropic.code_execution_20250825" as const,
  args: {},
  isProviderExecuted: true as const,
  supportsDeferredResults: false,
  inputSchema: jsonSchema<unknown>({ type: "object" }),
  outputSchema: jsonSchema<unknown>({ type: "object" }),
};

function stage(more: object = {}) {
  const session = fresh("coverage");
  const gateway = new Gateway({ decide: approve });
  const [held, open] = [new Effect(), new Effect()];
  const refund = tool({ inputSchema, execute: async (input) => held.run(input) });
  const lookup = tool({ inputSchema, execute: async (input) => open.run(input) });
  const gate = createGate({ client: gateway.client(), session, ...more });
  const told = new Map<string, string>();
  const turns = [[call(session, 1, ["a"], "refund"), call(session, 2, ["b"], "lookup")]];
  const model = () => scripted(turns, told);
  const ran = () => [held.ran.length, open.ran.length, gateway.requests.length];
  return { gate, gateway, refund, lookup, model, ran };
}

describe("AI SDK, what is not held", () => {
  const client = tool({ inputSchema, outputSchema: z.string() });
  test.each([
    ["a tool that runs at the provider", { code: hosted }, /code \(it runs at the model's provider/],
    ["a tool without execute", { ask: client }, /ask \(it has no execute: it runs elsewhere/],
  ])("%s is refused, whatever `only` says", async (_, tools, sentence) => {
    for (const only of [undefined, ["refund"], () => false]) {
      const { gate, refund } = stage({ only });
      expect(() => gate.tools({ refund, ...tools })).toThrow(sentence);
      expect(() => gate.tools({ refund, ...tools })).toThrow(/pass uncovered: "allow"/);
    }
    const { gate, refund } = stage({ uncovered: "allow" });
    const found = await coverage(gate.tools({ refund, ...tools }));
    expect(found.gated.map(({ name }) => name)).toEqual(["refund"]);
    expect(found.uncovered.map(({ name }) => name)).toEqual(Object.keys(tools));
  });

  test("dynamic tools are held as others are", async () => {
    const { gate, lookup } = stage();
    const refund = dynamicTool({ description: "", inputSchema, execute: async () => 1 });
    expect((await coverage(gate.tools({ refund, lookup }))).gated).toHaveLength(2);
  });

  test("a tool beside the gated ones is seen by coverage, and by a guarded model before its first call", async () => {
    const { gate, refund, lookup, model, ran } = stage();
    const tools = { ...gate.tools({ refund }), lookup };
    const agent = new ToolLoopAgent({ id: "ops", model: gate.model(model()), tools, stopWhen });
    expect(String(await coverage(agent))).toBe(
      "ops (ai-sdk): 1 gated, 1 not\n  gated      refund\n" +
        "  NOT GATED  lookup: it is not among the tools that gate.tools({…}) returned",
    );
    await expect(agent.generate({ prompt: "go" })).rejects.toThrow(/asked about: lookup \(it is not among/);
    const errors: unknown[] = [];
    const streamed = streamText({
      model: gate.model(model()),
      prompt: "go",
      tools,
      onError: ({ error }) => void errors.push(error),
    });
    await streamed.consumeStream();
    expect(String(errors[0])).toMatch(/asked about: lookup/);
    expect(ran()).toEqual([0, 0, 0]);
  });

  test("a guarded model is not called with tools or MCP servers of the provider", async () => {
    const { gate, refund, model, ran } = stage();
    const tools = gate.tools({ refund });
    const guarded = gate.model(model());
    const withTool = generateText({ model: guarded, prompt: "go", tools: { ...tools, code: hosted } });
    await expect(withTool).rejects.toThrow(/asked about: code \(it runs at the model's provider/);
    const anthropic = { mcpServers: [{ type: "url", name: "files", url: "http://x" }] };
    const withServer = generateText({ model: guarded, prompt: "go", tools, providerOptions: { anthropic } });
    await expect(withServer).rejects.toThrow(/asked about: files \(it runs at/);
    expect(ran()).toEqual([0, 0, 0]);
    expect(() => gate.model("openai/gpt-5" as never)).toThrow(/takes a model, not its name/);
  });

  test("a guarded model works with gated tools and with those that `only` leaves out", async () => {
    const { gate, refund, lookup, model, ran } = stage({ only: ["refund"] });
    const tools = gate.tools({ refund, lookup });
    const result = await generateText({ model: gate.model(model()), prompt: "go", tools, stopWhen });
    expect(result.text).toBe("done");
    expect(ran()).toEqual([1, 1, 1]);
    const { complete, ungated } = await coverage(tools);
    expect(complete).toBe(true);
    expect(ungated).toMatchObject([{ name: "lookup", chosen: true }]);
  });

  test("a tool that gets another execute after it was gated is not gated", async () => {
    const { gate, refund } = stage();
    const tools = gate.tools({ refund });
    expect((await coverage({ refund: { ...tools.refund } })).complete).toBe(true);
    expect((await coverage({ refund: { ...tools.refund, execute: refund.execute } })).complete).toBe(false);
  });

  test("a misspelt name is an error that says the right one", () => {
    const { gate, refund, lookup } = stage({ only: ["refnd"] });
    expect(() => gate.tools({ refund, lookup })).toThrow(
      "only names refnd, which is not among the tools: refund, lookup. Did you mean refund?",
    );
  });

  test("an unknown option is an error", () => {
    expect(() => stage({ onOutage: "allow" })).toThrow(/createGate has no option "onOutage"/);
    expect(() => stage({ onlly: ["refund"] })).toThrow(/did you mean "only"/);
  });
});
