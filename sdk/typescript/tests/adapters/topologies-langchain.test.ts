import {
  Annotation,
  Command,
  END,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { createAgent, createMiddleware, ToolMessage, tool } from "langchain";
import { gate as gated, session as inside } from "placet";
import { createGate } from "placet/langchain";
import { describe, expect } from "vitest";
import { z } from "zod";
import { scripted } from "./langchain-model.js";
import {
  about,
  call,
  Effect,
  fresh,
  type ModelCall,
  onStage,
  type Play,
  type Told,
  type Tools,
  text,
} from "./stage.js";
import { evidence, resumedForTwo, resumedTwice, type Several, topologies, twoOf } from "./topologies.js";
import { topology } from "./topology.js";

const schema = z.object({ files: z.array(z.string()) });
const framework = { createMiddleware, ToolMessage };
const human = { messages: [{ role: "user", content: "go" }] };

const made = (tools: Tools) =>
  Object.entries(tools).map(([name, run]) =>
    tool(async (input) => text(run(input)), { name, description: `does ${name}`, schema }),
  );

const agentOf = ({ turns, tools, gate }: Play, more: object = {}) =>
  createAgent({
    model: scripted(turns, new Map()),
    tools: made(tools),
    middleware: [createGate({ ...framework, ...gate }).middleware],
    ...more,
  });

async function streamed(play: Play, seen: (part: unknown) => void) {
  for await (const part of await agentOf(play).stream(human, { streamMode: "updates" })) seen(part);
}

/** A graph whose nodes are agents. */
async function sequential({ turns: [first = [], second = []], ...rest }: Several) {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("first", agentOf({ ...rest, turns: first }).graph as never)
    .addNode("second", agentOf({ ...rest, turns: second }).graph as never)
    .addEdge(START, "first")
    .addEdge("first", "second")
    .addEdge("second", END)
    .compile();
  await graph.invoke(human);
}

/** Agents inside tools of agents. */
function nest({ turns, tools }: Several, middleware: unknown, top: object = {}) {
  const told: Told = new Map();
  const agent = (
    [own = [], ...inner]: ModelCall[][][],
    more: object = {},
  ): ReturnType<typeof createAgent> => {
    const delegate = tool(async () => text((await agent(inner).invoke(human)).messages.at(-1)?.content), {
      name: "delegate",
      description: "hands it on",
      schema: z.object({}),
    });
    const last = { id: `${own[0]?.[0]?.id}-delegate`, tool: "delegate", args: {} };
    return createAgent({
      model: scripted(inner.length === 0 ? own : [...own, [last]], told),
      tools: inner.length === 0 ? made(tools) : [...made(tools), delegate as never],
      middleware: [middleware as never],
      ...more,
    }) as never;
  };
  return agent(turns, top);
}

topologies({
  of: "LangGraph.js",
  run: (play) => agentOf(play).invoke(human),
  streamed,
  sequential,
  nested: (play) => nest(play, createGate({ ...framework, ...play.gate }).middleware).invoke(human),
});

describe("LangGraph.js, topologies of its own", () => {
  const stage = onStage();

  topology("LangGraph.js", "nested twice", "a thread pauses at each depth, and goes on", () =>
    resumedTwice(stage, async (play) => {
      const gate = createGate({ ...framework, interrupt, ...play.gate });
      const checkpointer = new MemorySaver();
      const agent = nest(play, gate.middleware, { checkpointer });
      await agent.invoke(human, { configurable: { thread_id: play.gate.session as string } });
      return gate.threads({ agent, checkpointer, Command });
    }),
  );

  topology("LangGraph.js", "handoff", "a handoff is held, and so is what the next agent does", async () => {
    const session = fresh("handoff");
    const [effect, over] = [new Effect(), new Effect(() => "handed over")];
    const play = { tools: { delete_files: effect.run }, gate: stage.gate(session) };
    const transfer = tool(
      async (input, { toolCall }: { toolCall?: { id?: string } }) => {
        const content = text(over.run(input));
        const messages = [new ToolMessage({ content, tool_call_id: toolCall?.id ?? "", name: "transfer" })];
        return new Command({ goto: "second", graph: Command.PARENT, update: { messages } });
      },
      { name: "transfer", description: "hands over", schema },
    );
    const before = [[call(session, 1, ["first.md"])], [call(session, 2, [], "transfer")]];
    const tools = [...made(play.tools), transfer];
    const turns = [[call(session, 3, ["no.md"])], [call(session, 4, ["last.md"])]];
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("first", agentOf({ ...play, turns: before }, { tools }).graph as never, { ends: ["second"] })
      .addNode("second", agentOf({ ...play, turns }).graph as never)
      .addEdge(START, "first")
      .addEdge("second", END)
      .compile();
    const running = graph.invoke(human);
    await stage.ann.approve(about(session, "first.md"));
    await stage.ann.approve((record) => record.session === session && record.tool === "transfer");
    await stage.ann.deny("no", about(session, "no.md"));
    await stage.ann.edit({ files: ["edited.md"] }, about(session, "last.md"));
    await running;
    expect((await stage.states(session)).sort()).toEqual(["denied", "succeeded", "succeeded", "succeeded"]);
    return evidence(stage, session, effect, over);
  });

  topology("LangGraph.js", "workflow", "plain nodes ask, beside each other and round by round", async () => {
    const session = fresh("graph");
    const effect = new Effect();
    const remove = gated(async (input: { files: string[] }) => effect.run(input), { tool: "delete_files" });
    const State = Annotation.Root({ rounds: Annotation<number> });
    const node = (name: string) => async () => {
      await remove({ files: [`${name}.md`] });
      return {};
    };
    const graph = new StateGraph(State)
      .addNode("left", node("left"))
      .addNode("right", node("right"))
      .addNode("again", async ({ rounds = 0 }) => {
        await remove({ files: ["again.md"] });
        return { rounds: rounds + 1 };
      })
      .addEdge(START, "left")
      .addEdge(START, "right")
      .addEdge(["left", "right"], "again")
      .addConditionalEdges("again", ({ rounds }) => (rounds < 3 ? "again" : END))
      .compile();
    const client = stage.server.agent();
    const running = inside({ id: session, client }, async () => graph.invoke({ rounds: 0 }));
    await stage.ann.deny("no", about(session, "right.md"));
    await stage.ann.approve(about(session, "left.md"));
    await stage.ann.edit({ files: ["edited.md"] }, about(session, "again.md"));
    await stage.ann.deny("no", about(session, "again.md"));
    await stage.ann.approve(about(session, "again.md"));
    await running;
    return evidence(stage, session, effect);
  });

  topology("LangGraph.js", "two users with one session id", "paused threads go on for their user", () =>
    resumedForTwo(stage, async (user, { session, turns, tools, gate: options }) => {
      const gate = createGate({ ...framework, interrupt, ...options });
      const checkpointer = new MemorySaver();
      const model = scripted(turns, new Map());
      const agent = createAgent({ model, tools: made(tools), middleware: [gate.middleware], checkpointer });
      const config = { configurable: { thread_id: session } };
      await inside({ id: "other", user }, async () => agent.invoke(human, config));
      return gate.threads({ agent, checkpointer, Command });
    }),
  );

  topology("LangGraph.js", "two users with one session id", "two users of one thread are two", async () => {
    const session = fresh("users-thread");
    // One gate for all, as a program has that makes its agent once.
    const { middleware } = createGate({ ...framework, client: stage.server.agent() });
    return twoOf(stage, session, [new Effect(), new Effect()], (user, effect) => {
      const agent = createAgent({
        model: scripted([[call(session, 1, ["same.md"])]], new Map()),
        tools: made({ delete_files: effect.run }),
        middleware: [middleware],
        checkpointer: new MemorySaver(),
      });
      const config = { configurable: { thread_id: session } };
      return inside({ id: session, user }, async () => agent.invoke(human, config));
    });
  });
});
