import { join } from "node:path";
import { Agent, Runner, RunState, setTracingDisabled, type Tool, tool } from "@openai/agents";
import { session as inside, type Placet } from "placet";
import { createGate, storedRuns } from "placet/openai-agents";
import { FileStore } from "placet/resume";
import { describe } from "vitest";
import { z } from "zod";
import { scripted } from "./openai-model.js";
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
} from "./stage.js";
import { evidence, inFolder, resumedForTwo, resumedTwice, type Several, topologies } from "./topologies.js";
import { topology } from "./topology.js";

setTracingDisabled(true);
const parameters = z.object({ files: z.array(z.string()) });
const runner = new Runner({ tracingDisabled: true });

const made = (make: typeof tool, tools: Tools): Tool[] =>
  Object.entries(tools).map(([name, run]) =>
    make({ name, description: `does ${name}`, parameters, execute: async (input) => run(input) }),
  );

function agentOf({ turns, tools, gate }: Play, more: object = {}) {
  const held = createGate({ tool, ...gate });
  return new Agent({ name: "a", model: scripted(turns, new Map()), tools: made(held.tool, tools), ...more });
}

async function streamed(play: Play, seen: (part: unknown) => void) {
  const result = await runner.run(agentOf(play), "go", { stream: true });
  for await (const part of result) seen(part);
  await result.completed;
}

async function sequential({ turns: [first = [], second = []], ...rest }: Several) {
  const { finalOutput } = await runner.run(agentOf({ ...rest, turns: first }), "go");
  await runner.run(agentOf({ ...rest, turns: second }), String(finalOutput));
}

/** Agents that are tools of agents. */
function nest({ turns, tools, gate }: Several) {
  const held = createGate({ tool, ...gate });
  const told: Told = new Map();
  const agent = ([own = [], ...inner]: ModelCall[][][]): Agent => {
    const mine = made(held.tool, tools);
    const name = `depth-${turns.length - inner.length}`;
    if (inner.length === 0) return new Agent({ name, model: scripted(own, told), tools: mine });
    const delegate = held.asTool(agent(inner), { toolName: "delegate", toolDescription: "hands it on" });
    const last = { id: `${own[0]?.[0]?.id}-delegate`, tool: "delegate", args: { input: "go" } };
    const model = scripted([...own, [last]], told);
    return new Agent({ name, model, tools: [...mine, delegate as Tool] });
  };
  return { gate: held, agent: agent(turns) };
}

topologies({
  of: "OpenAI Agents",
  run: (play) => runner.run(agentOf(play), "go"),
  streamed,
  sequential,
  nested: (play) => runner.run(nest(play).agent, "go"),
});

describe("OpenAI Agents, topologies of its own", () => {
  const stage = onStage();

  const stored = (client: Placet | undefined, open: () => ReturnType<typeof nest>, folder: string) =>
    storedRuns({
      client: client as Placet,
      store: new FileStore(folder),
      RunState,
      run: (agent, input) => runner.run(agent, input),
      open,
    });

  topology("OpenAI Agents", "nested twice", "a run stops at each depth, and goes on", () =>
    inFolder((folder) =>
      resumedTwice(stage, async (play) => {
        const { session = "", ...gate } = play.gate;
        const runs = stored(gate.client, () => nest({ ...play, gate }), folder);
        await runs.start(session, "go");
        return runs;
      }),
    ),
  );

  topology("OpenAI Agents", "two users with one session id", "stopped runs go on for their user", () =>
    inFolder((folder) =>
      resumedForTwo(stage, async (user, { session, turns, ...play }) => {
        const runs = stored(play.gate.client, () => nest({ ...play, turns: [turns] }), join(folder, user));
        await inside({ id: "other", user }, () => runs.start(session, "go"));
        return runs;
      }),
    ),
  );

  topology("OpenAI Agents", "handoff", "calls are held before and after a handoff", async () => {
    const session = fresh("handoff");
    const effect = new Effect();
    const play = { tools: { delete_files: effect.run }, gate: stage.gate(session) };
    const after = [
      [call(session, 2, ["no.md"]), call(session, 3, ["yes.md"])],
      [call(session, 4, ["last.md"])],
    ];
    const next = agentOf({ ...play, turns: after }, { name: "next" });
    const before = [
      [call(session, 1, ["first.md"])],
      [{ id: fresh("handoff"), tool: "transfer_to_next", args: {} }],
    ];
    const running = runner.run(agentOf({ ...play, turns: before }, { handoffs: [next] }), "go");
    await stage.ann.approve(about(session, "first.md"));
    await stage.ann.deny("no", about(session, "no.md"));
    await stage.ann.approve(about(session, "yes.md"));
    await stage.ann.edit({ files: ["edited.md"] }, about(session, "last.md"));
    await running;
    return evidence(stage, session, effect);
  });
});
