import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { createAgent, createMiddleware, ToolMessage, tool, toolRetryMiddleware } from "langchain";
import { createGate } from "placet/langchain";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { scripted } from "./langchain-model.js";
import { type PausePlay, pauses, toPause } from "./pauses.js";
import { scenarios } from "./scenarios.js";
import {
  about,
  call,
  Effect,
  fresh,
  inSession,
  onStage,
  type Play,
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

/** A tool whose work is done by an agent. */
const delegate = (inner: {
  invoke: (input: typeof human) => Promise<{ messages: { content: unknown }[] }>;
}) =>
  tool(async () => text((await inner.invoke(human)).messages.at(-1)?.content), {
    name: "delegate",
    description: "hands it on",
    schema: z.object({}),
  });

async function nested({ turns, tools, gate }: Play): Promise<Told> {
  const told: Told = new Map();
  const { middleware } = createGate({ ...framework, ...gate });
  const inner = createAgent({ model: scripted(turns, told), tools: made(tools), middleware: [middleware] });
  const outer = [[{ id: fresh("delegate"), tool: "delegate", args: {} }]];
  await createAgent({ model: scripted(outer, new Map()), tools: [delegate(inner)] }).invoke(human);
  return told;
}

async function streamed({ turns, tools, gate, signal }: Play): Promise<Told> {
  const told: Told = new Map();
  const { middleware } = createGate({ ...framework, ...gate });
  const agent = createAgent({ model: scripted(turns, told), tools: made(tools), middleware: [middleware] });
  for await (const _ of await agent.stream(human, { signal, streamMode: "updates" }));
  return told;
}

/** A run up to its first pause, and going on as another process would: only the checkpoints are the same. */
async function begun({ session, turns, tools, gate }: PausePlay, inside = false) {
  const checkpointer = new MemorySaver();
  const config = { configurable: { thread_id: session } };
  const begin = () => {
    const told: Told = new Map();
    const held = createGate({ ...framework, interrupt, ...gate() });
    const parts = { model: scripted(turns, told), tools: made(tools), middleware: [held.middleware] };
    const turn = [[{ id: `${session}-delegate`, tool: "delegate", args: {} }]];
    const agent = inside
      ? createAgent({ model: scripted(turn, told), tools: [delegate(createAgent(parts))], checkpointer })
      : createAgent({ ...parts, checkpointer });
    return { told, held, agent };
  };
  const first = await begin().agent.invoke(human, config);
  const goOn = async (value: unknown) => {
    const { told, agent } = begin();
    return { told, open: interrupts(await agent.invoke(new Command({ resume: value }), config)) };
  };
  return { open: interrupts(first), goOn, decided: () => begin().held.decided(first as never) };
}
const interrupts = (result: unknown) => (result as { __interrupt__?: { id: string }[] }).__interrupt__ ?? [];

async function start(play: PausePlay, inside = false) {
  const { open, goOn, decided } = await begun(play, inside);
  expect(open).toMatchObject(
    play.turns.flat().map(({ tool: name, args }) => ({ value: { actionRequests: [{ name, args }] } })),
  );
  const resume = async () => {
    const answers = await decided();
    if (!answers) return undefined;
    const { told, open } = await goOn(answers);
    expect(open).toEqual([]);
    return told;
  };
  const approve = { decisions: [{ type: "approve" }] };
  const keyed = Object.fromEntries(open.map(({ id }) => [id, approve]));
  /** In both forms in which a run can be resumed. */
  const forge = async () => {
    for (const value of [approve, keyed]) {
      const { told, open: still } = await goOn(value);
      if (still.length === 0) return told;
      expect(still).toHaveLength(open.length);
    }
    return undefined;
  };
  return { resume, forge };
}

scenarios({ name: "LangChain, invoke", of: "LangGraph.js", run, nested });
scenarios({ name: "LangChain, stream", of: "LangGraph.js", run: streamed, nested });
pauses({
  name: "LangChain",
  of: "LangGraph.js",
  start,
  nested: (play) => start(play, true),
  forged: "pauses again",
});

describe("LangChain", () => {
  const stage = onStage();

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

  test("after an edit the message inside a Command says what ran", async () => {
    const session = fresh("command");
    const told: Told = new Map();
    const { middleware } = createGate({ ...framework, ...stage.gate(session) });
    const command = tool(
      async ({ files }, { toolCall }: { toolCall?: { id?: string } }) => {
        const content = `gone: ${files.join()}`;
        const message = new ToolMessage({ content, tool_call_id: toolCall?.id ?? "", name: "delete_files" });
        return new Command({ update: { messages: [message] } });
      },
      { name: "delete_files", description: "deletes", schema },
    );
    const agent = createAgent({
      model: scripted([[call(session, 1, ["a.md"])]], told),
      tools: [command],
      middleware: [middleware],
    });
    const running = agent.invoke(human);
    await stage.ann.edit({ files: ["b.md"] }, inSession(session));
    await running;
    expect(told.get(`${session}-1`)).toMatch(/gone: b\.md.*executed_arguments.*b\.md/s);
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

  test("what ran beside a paused call does not run again when the run is resumed", async () => {
    const session = fresh("pause-mixed");
    const ran: string[] = [];
    const effect = new Effect((files) => ran.push(...files));
    const turns = [[call(session, 1, ["early.md"]), call(session, 2, ["late.md"])]];
    const beginning = begun(toPause(stage, session, effect, turns, { holdFor: "1s" }));
    await stage.ann.approve(about(session, "early.md"));
    const { open, goOn } = await beginning;
    expect(open).toHaveLength(1);
    expect(ran).toEqual(["early.md"]);
    await stage.ann.approve(about(session, "late.md"));
    expect((await goOn(true)).open).toEqual([]);
    expect(ran).toEqual(["early.md", "late.md"]);
    expect(await stage.states(session)).toEqual(["succeeded", "succeeded"]);
  });
});
