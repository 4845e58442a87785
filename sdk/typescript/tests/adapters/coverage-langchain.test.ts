import { END, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { createAgent, createMiddleware, ToolMessage, tool } from "langchain";
import { coverage } from "placet";
import { createGate } from "placet/langchain";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { approve, Gateway } from "../../src/testing/index.js";
import { scripted } from "./langchain-model.js";
import { call, Effect, fresh, text } from "./stage.js";

const schema = z.object({ files: z.array(z.string()) });
const human = { messages: [{ role: "user", content: "go" }] };
const search = { type: "web_search_20250305", name: "web_search" };

function stage(more: object = {}) {
  const session = fresh("coverage");
  const gateway = new Gateway({ decide: approve });
  const [held, open] = [new Effect(), new Effect()];
  const made = (name: string, effect: Effect) =>
    tool(async (input) => text(effect.run(input)), { name, description: name, schema });
  const tools = [made("refund", held), made("lookup", open)];
  const gate = createGate({ createMiddleware, ToolMessage, client: gateway.client(), session, ...more });
  const turns = [[call(session, 1, ["a"], "refund"), call(session, 2, ["b"], "lookup")]];
  const agent = (rest: object = {}) =>
    createAgent({
      name: "ops",
      model: scripted(turns, new Map()),
      tools,
      middleware: [gate.middleware],
      ...rest,
    });
  const ran = () => [held.ran.length, open.ran.length, gateway.requests.length];
  return { gate, gateway, tools, agent, ran };
}

describe("LangChain, what is not held", () => {
  test("a tool of the provider is refused before the model is called", async () => {
    const { agent, tools, ran } = stage();
    const running = agent({ tools: [...tools, search] }).invoke(human);
    await expect(running).rejects.toThrow(/asked about: web_search \(it runs at the model's provider/);
    const google = agent({ tools: [...tools, { googleSearch: {} }] }).invoke(human);
    await expect(google).rejects.toThrow(/asked about: googleSearch/);
    const described = agent({ tools: [...tools, { type: "function", function: { name: "f" } }] }).invoke(
      human,
    );
    await expect(described).rejects.toThrow(/asked about: f /);
    expect(ran()).toEqual([0, 0, 0]);
  });

  test('with uncovered: "allow" the run starts, and its own tools are held', async () => {
    const { agent, tools, ran } = stage({ uncovered: "allow" });
    await agent({ tools: [...tools, search] }).invoke(human);
    expect(ran()).toEqual([1, 1, 2]);
  });

  test("a misspelt name ends the run before the model is called", async () => {
    const { agent, ran } = stage({ only: ["refnd"] });
    await expect(agent().invoke(human)).rejects.toThrow(
      "only names refnd, which is not among the tools: refund, lookup. Did you mean refund?",
    );
    expect(ran()).toEqual([0, 0, 0]);
  });

  test("a run that is taken up at its tools, before names were checked, asks about all of them", async () => {
    const { agent, ran, gateway } = stage({ only: ["refund"] });
    const config = { configurable: { thread_id: fresh("thread") } };
    const paused = { checkpointer: new MemorySaver() };
    const first = agent(paused).graph;
    await first.invoke(human, { ...config, interruptBefore: ["tools"] });
    // Another process: its gate has not seen a call of the model.
    const { gate } = stage({ only: ["refund"], client: gateway.client() });
    const again = agent({ ...paused, middleware: [gate.middleware] }).graph;
    await again.invoke(null, { ...config, interruptAfter: ["tools"] });
    expect(ran()).toEqual([1, 1, 2]);
  });

  test("coverage says what is held, left out and never seen", async () => {
    const { agent, tools, gate } = stage({ only: ["refund"] });
    const found = await coverage(agent({ tools: [...tools, search] }));
    expect(String(found).split("\n")).toEqual([
      "ops (langchain): 1 gated, 2 not",
      "  gated      refund",
      "  left out   lookup: left out by `only`",
      "  NOT GATED  web_search: it runs at the model's provider, where nothing of it is seen",
    ]);
    const without = await coverage(agent({ middleware: [] }));
    expect(without.uncovered).toMatchObject([
      { name: "refund", why: "the agent has no gate.middleware" },
      {},
    ]);
    const early = createMiddleware({ name: "Early", wrapToolCall: (request, handler) => handler(request) });
    const behind = await coverage(agent({ middleware: [early, gate.middleware] }));
    expect(behind.uncovered).toMatchObject([{ name: "Early", kind: "middleware" }]);
  });

  test("a tool of the provider that a later middleware adds is refused by the guard at the end", async () => {
    const { agent, gate, ran } = stage();
    const adds = createMiddleware({
      name: "Adds",
      wrapModelCall: (request, handler) => handler({ ...request, tools: [...request.tools, search] }),
    });
    const unseen = await coverage(agent({ middleware: [gate.middleware, adds] }));
    expect(unseen.uncovered).toMatchObject([
      { name: "Adds", why: expect.stringContaining("put gate.guard last") },
    ]);
    const ops = agent({ middleware: [gate.middleware, adds, gate.guard] });
    expect((await coverage(ops)).complete).toBe(true);
    await expect(ops.invoke(human)).rejects.toThrow(/asked about: web_search \(it runs at/);
    expect(ran()).toEqual([0, 0, 0]);
  });

  test("a guard in a list where nobody adds a tool changes nothing", async () => {
    const { agent, gate, ran } = stage();
    await agent({ middleware: [gate.middleware, gate.guard] }).invoke(human);
    expect(ran()).toEqual([1, 1, 2]);
  });

  test("tools of a middleware are held", async () => {
    const { agent, tools, gate, ran } = stage();
    const brings = createMiddleware({ name: "Brings", tools: [tools[1] as never] });
    const ops = agent({ tools: [tools[0]], middleware: [gate.middleware, brings] });
    expect((await coverage(ops)).gated).toHaveLength(2);
    await ops.invoke(human);
    expect(ran()).toEqual([1, 1, 2]);
  });

  test("coverage says that a tool node of a graph is not held", async () => {
    const { tools } = stage();
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("work", new ToolNode(tools))
      .addEdge(START, "work")
      .addEdge("work", END)
      .compile();
    const found = await coverage(graph);
    expect(found.gated).toEqual([]);
    expect(found.uncovered).toMatchObject([{ name: "refund", kind: "tool" }, { name: "lookup" }]);
  });

  test("an unknown option is an error", () => {
    expect(() => stage({ onOutage: "allow" })).toThrow(/createGate has no option "onOutage"/);
    expect(() => stage({ toolError: "throw" })).toThrow(/did you mean "toolErrors"/);
    expect(() => stage({ toolErrors: "thrw" })).toThrow(/toolErrors must be "message" or "throw"/);
  });
});
