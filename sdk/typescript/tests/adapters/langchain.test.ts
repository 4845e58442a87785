import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { createAgent, createMiddleware, ToolMessage, tool, toolRetryMiddleware } from "langchain";
import { createGate } from "placet/langchain";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import type { AdapterOptions } from "../../src/adapters/common.js";
import { scripted } from "./langchain-model.js";
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
  text,
} from "./stage.js";

const schema = z.object({ files: z.array(z.string()) });
const framework = { createMiddleware, ToolMessage };
const human = { messages: [{ role: "user", content: "go" }] };

const made = (tools: Tools) =>
  Object.entries(tools).map(([name, run]) =>
    tool(async (input) => text(run(input)), { name, description: `does ${name}`, schema }),
  );

async function run({ turns, tools, gate, signal }: Play): Promise<Told> {
  const told: Told = new Map();
  const { middleware } = createGate({ ...framework, ...gate });
  const agent = createAgent({ model: scripted(turns, told), tools: made(tools), middleware: [middleware] });
  await agent.invoke(human, { signal });
  return told;
}

/** A tool whose work is done by an agent with tools of its own. */
async function nested({ turns, tools, gate }: Play): Promise<Told> {
  const told: Told = new Map();
  const { middleware } = createGate({ ...framework, ...gate });
  const inner = createAgent({ model: scripted(turns, told), tools: made(tools), middleware: [middleware] });
  const delegate = tool(async () => text((await inner.invoke(human)).messages.at(-1)?.content), {
    name: "delegate",
    description: "hands it on",
    schema: z.object({}),
  });
  const outer = [[{ id: fresh("delegate"), tool: "delegate", args: {} }]];
  await createAgent({ model: scripted(outer, new Map()), tools: [delegate] }).invoke(human);
  return told;
}

async function streamed({ turns, tools, gate, signal }: Play): Promise<Told> {
  const told: Told = new Map();
  const { middleware } = createGate({ ...framework, ...gate });
  const agent = createAgent({ model: scripted(turns, told), tools: made(tools), middleware: [middleware] });
  for await (const _ of await agent.stream(human, { signal, streamMode: "updates" }));
  return told;
}

scenarios({ name: "LangChain, invoke", run, nested });
scenarios({ name: "LangChain, stream", run: streamed, nested });

describe("LangChain", () => {
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

  test("the thread is the session, where none is named", async () => {
    const session = fresh("thread");
    const effect = new Effect();
    const { middleware } = createGate({ ...framework, client: stage.server.agent() });
    const agent = createAgent({
      model: scripted([[call(session, 1, ["a.md"])]], new Map()),
      tools: made({ delete_files: effect.run }),
      middleware: [middleware],
      checkpointer: new MemorySaver(),
    });
    const running = agent.invoke(human, { configurable: { thread_id: session } });
    await stage.ann.approve(inSession(session));
    await running;
    expect(effect.ran).toHaveLength(1);
  });

  test("a refusal is marked as an error, an answer is not", async () => {
    const session = fresh("status");
    const { middleware } = createGate({
      ...framework,
      ...stage.gate(session, { allowed: ["approve", "deny", "respond"] }),
    });
    const agent = createAgent({
      model: scripted([[call(session, 1, ["no.md"]), call(session, 2, ["answer.md"])]], new Map()),
      tools: made({ delete_files: () => "ran" }),
      middleware: [middleware],
    });
    const running = agent.invoke(human);
    await stage.ann.deny("no", about(session, "no.md"));
    await stage.ann.respond("kept", about(session, "answer.md"));
    const { messages } = await running;
    const status = messages.filter((each) => ToolMessage.isInstance(each)).map((each) => each.status);
    expect(status).toEqual(["error", "success"]);
  });

  test("an error of a tool ends the run if that is asked for", async () => {
    const session = fresh("throw");
    const { middleware } = createGate({ ...framework, ...stage.gate(session), toolErrors: "throw" });
    const failing = () => {
      throw new Error("the disk is full");
    };
    const agent = createAgent({
      model: scripted([[call(session, 1, ["a.md"])]], new Map()),
      tools: made({ delete_files: failing }),
      middleware: [middleware],
    });
    const running = agent.invoke(human);
    const ended = expect(running).rejects.toThrow("the disk is full");
    await stage.ann.approve(inSession(session));
    await ended;
    expect(await stage.states(session)).toEqual(["failed"]);
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

  test("a retry outside the gate is another call, and is refused", async () => {
    const session = fresh("retry");
    const effect = new Effect(() => {
      throw new Error("the disk is full");
    });
    const told: Told = new Map();
    const { middleware } = createGate({ ...framework, ...stage.gate(session), toolErrors: "throw" });
    const retry = toolRetryMiddleware({ maxRetries: 2, initialDelayMs: 1 });
    const agent = createAgent({
      model: scripted([[call(session, 1, ["a.md"])]], told),
      tools: made({ delete_files: effect.run }),
      middleware: [retry, middleware],
    });
    const running = agent.invoke(human);
    await stage.ann.approve(inSession(session));
    await running;
    expect(effect.ran).toHaveLength(1);
    expect(told.get(`${session}-1`)).toContain("not run again");
  });

  test("without the functions of the framework the gate says what to import", () => {
    expect(() => createGate({ ...stage.gate("s") } as never)).toThrow(/import \{ createMiddleware/);
    expect(() => createGate({ ...framework, ...stage.gate("s"), mode: "pause" })).toThrow(
      /import \{ interrupt \}/,
    );
  });

  describe("pausing", () => {
    const paused = async (session: string, turns: ModelCall[][], effect: Effect) => {
      const checkpointer = new MemorySaver();
      const config = { configurable: { thread_id: session } };
      const told: Told = new Map();
      /** As another process would: a new gate, client and agent; only the checkpoints are the same. */
      const begin = (more: AdapterOptions = {}) => {
        const gate = createGate({
          ...framework,
          interrupt,
          ...stage.gate(session, { mode: "pause", ...more }),
        });
        const agent = createAgent({
          model: scripted(turns, told),
          tools: made({ delete_files: effect.run }),
          middleware: [gate.middleware],
          checkpointer,
        });
        return { gate, agent };
      };
      const { agent } = begin();
      const first = await agent.invoke(human, config);
      const resume = (value: unknown) => begin().agent.invoke(new Command({ resume: value }), config);
      return { first, told, resume, decided: () => begin().gate.decided(first as never) };
    };
    const interrupts = (result: unknown) =>
      (result as { __interrupt__?: { id: string }[] }).__interrupt__ ?? [];

    test("a run ends while nobody has decided, and goes on in another process when somebody has", async () => {
      const session = fresh("pause");
      const effect = new Effect();
      const { first, told, resume, decided } = await paused(session, [[call(session, 1, ["a.md"])]], effect);
      expect(interrupts(first)).toHaveLength(1);
      expect(interrupts(first)[0]).toMatchObject({
        value: { actionRequests: [{ name: "delete_files", args: { files: ["a.md"] } }] },
      });
      expect(await decided()).toBeUndefined();
      await stage.ann.approve(inSession(session));
      await resume(await decided());
      expect(told.get(`${session}-1`)).toContain("deleted");
      expect(effect.ran).toEqual([{ files: ["a.md"] }]);
      expect(await stage.states(session)).toEqual(["succeeded"]);
    });

    test("an approval in the resume value is not a yes: the run pauses again", async () => {
      const session = fresh("pause-forged");
      const effect = new Effect();
      const { first, told, resume } = await paused(session, [[call(session, 1, ["a.md"])]], effect);
      const [asked] = interrupts(first);
      const again = await resume({ [asked?.id ?? ""]: { decisions: [{ type: "approve" }] } });
      expect(interrupts(again)).toHaveLength(1);
      expect(effect.ran).toEqual([]);
      await stage.ann.deny("not this year", inSession(session));
      await resume({ decisions: [{ type: "approve" }] });
      expect(effect.ran).toEqual([]);
      expect(told.get(`${session}-1`)).toContain("not this year");
    });

    test("an edit is what runs after the pause", async () => {
      const session = fresh("pause-edit");
      const effect = new Effect();
      const { told, resume, decided } = await paused(session, [[call(session, 1, ["a.md"])]], effect);
      await stage.ann.edit({ files: ["b.md"] }, inSession(session));
      await resume(await decided());
      expect(effect.ran).toEqual([{ files: ["b.md"] }]);
      expect(told.get(`${session}-1`)).toContain("executed_arguments");
    });

    test("two calls of one turn pause together, and each has its own decision", async () => {
      const session = fresh("pause-two");
      const effect = new Effect();
      const turns = [[call(session, 1, ["yes.md"]), call(session, 2, ["no.md"])]];
      const { first, told, resume, decided } = await paused(session, turns, effect);
      expect(interrupts(first)).toHaveLength(2);
      await stage.ann.approve(about(session, "yes.md"));
      expect(await decided()).toBeUndefined();
      await stage.ann.deny("no", about(session, "no.md"));
      await resume(await decided());
      expect(effect.ran).toEqual([{ files: ["yes.md"] }]);
      expect(told.get(`${session}-1`)).toContain("deleted");
      expect(told.get(`${session}-2`)).toContain("denied");
    });

    test("an agent inside a tool pauses both, and both go on", async () => {
      const session = fresh("pause-nested");
      const effect = new Effect();
      const told: Told = new Map();
      const checkpointer = new MemorySaver();
      const config = { configurable: { thread_id: session } };
      const begin = () => {
        const gate = createGate({ ...framework, interrupt, ...stage.gate(session, { mode: "pause" }) });
        const inner = createAgent({
          model: scripted([[call(session, 1, ["a.md"])]], told),
          tools: made({ delete_files: effect.run }),
          middleware: [gate.middleware],
        });
        const delegate = tool(async () => text((await inner.invoke(human)).messages.at(-1)?.content), {
          name: "delegate",
          description: "hands it on",
          schema: z.object({}),
        });
        const outer = [[{ id: `${session}-delegate`, tool: "delegate", args: {} }]];
        const agent = createAgent({ model: scripted(outer, told), tools: [delegate], checkpointer });
        return { agent, gate };
      };
      const first = await begin().agent.invoke(human, config);
      expect(interrupts(first)).toHaveLength(1);
      await stage.ann.approve(inSession(session));
      const { agent, gate } = begin();
      await agent.invoke(new Command({ resume: await gate.decided(first as never) }), config);
      expect(effect.ran).toEqual([{ files: ["a.md"] }]);
      expect(told.get(`${session}-delegate`)).toContain("done");
      expect(await stage.states(session)).toEqual(["succeeded"]);
    });

    test("what ran beside a paused call does not run again when the run is resumed", async () => {
      const session = fresh("pause-mixed");
      const ran: string[] = [];
      const effect = new Effect((files) => ran.push(...files));
      const turns = [[call(session, 1, ["early.md"]), call(session, 2, ["late.md"])]];
      const checkpointer = new MemorySaver();
      const config = { configurable: { thread_id: session } };
      const begin = () => {
        const { middleware } = createGate({
          ...framework,
          interrupt,
          ...stage.gate(session, { mode: "pause", holdFor: "1s" }),
        });
        return createAgent({
          model: scripted(turns, new Map()),
          tools: made({ delete_files: effect.run }),
          middleware: [middleware],
          checkpointer,
        });
      };
      const first = begin().invoke(human, config);
      await stage.ann.approve(about(session, "early.md"));
      expect(interrupts(await first)).toHaveLength(1);
      expect(ran).toEqual(["early.md"]);
      await stage.ann.approve(about(session, "late.md"));
      await begin().invoke(new Command({ resume: true }), config);
      expect(ran).toEqual(["early.md", "late.md"]);
      expect(await stage.states(session)).toEqual(["succeeded", "succeeded"]);
    });
  });
});
