import { join } from "node:path";
import { generateText, isStepCount, type ModelMessage, streamText, type Tool, ToolLoopAgent, tool } from "ai";
import { session as inside, type Placet } from "placet";
import { createGate, storedRuns } from "placet/ai";
import { FileStore } from "placet/resume";
import { describe } from "vitest";
import { z } from "zod";
import { scripted } from "./ai-model.js";
import { fresh, type ModelCall, onStage, type Play, type Told, type Tools } from "./stage.js";
import { inFolder, resumedForTwo, type Several, topologies } from "./topologies.js";
import { topology } from "./topology.js";

const inputSchema = z.object({ files: z.array(z.string()) });
const stopWhen = isStepCount(8);

const made = (tools: Tools): Record<string, Tool> =>
  Object.fromEntries(
    Object.entries(tools).map(([name, run]) => [
      name,
      tool({ inputSchema, execute: async (input) => run(input) }),
    ]),
  );

const parts = ({ turns, tools, gate }: Play) => ({
  model: scripted(turns, new Map()),
  tools: createGate(gate).tools(made(tools)),
  stopWhen,
});

async function streamed(play: Play, seen: (part: unknown) => void) {
  for await (const part of streamText({ ...parts(play), prompt: "go" }).stream) seen(part);
}

async function sequential({ turns: [first = [], second = []], ...rest }: Several) {
  const { text } = await generateText({ ...parts({ ...rest, turns: first }), prompt: "go" });
  await new ToolLoopAgent(parts({ ...rest, turns: second })).generate({ prompt: text });
}

async function nested({ turns, tools, gate }: Several) {
  const held = createGate(gate);
  const told: Told = new Map();
  const agent = ([own = [], ...inner]: ModelCall[][][]): ToolLoopAgent<never, Record<string, Tool>> => {
    if (inner.length === 0)
      return new ToolLoopAgent({ model: scripted(own, told), tools: held.tools(made(tools)), stopWhen });
    const delegate = tool({
      inputSchema: z.object({ task: z.string() }),
      execute: async ({ task }) => (await agent(inner).generate({ prompt: task })).text,
    });
    const last = [{ id: fresh("delegate"), tool: "delegate", args: { task: "go" } }];
    const model = scripted([...own, last], told);
    const all: Record<string, Tool> = { ...held.tools(made(tools)), delegate };
    return new ToolLoopAgent({ model, tools: all, stopWhen });
  };
  await agent(turns).generate({ prompt: "go" });
}

topologies({
  of: "AI SDK",
  run: (play) => generateText({ ...parts(play), prompt: "go" }),
  streamed,
  sequential,
  nested,
});

describe("AI SDK, topologies of its own", () => {
  const stage = onStage();

  topology("AI SDK", "two users with one session id", "stored messages go on for their user", () =>
    inFolder((folder) =>
      resumedForTwo(stage, async (user, { session, turns, tools, gate: options }) => {
        const runs = storedRuns<ModelMessage>({
          client: options.client as Placet,
          store: new FileStore(join(folder, user)),
          open() {
            const gate = createGate(options);
            const model = scripted(turns, new Map());
            const held = { model, tools: gate.tools(made(tools)), stopWhen };
            return { gate, generate: (messages) => generateText({ ...held, messages }) };
          },
        });
        await inside({ id: "other", user }, () => runs.start(session, [{ role: "user", content: "go" }]));
        return runs;
      }),
    ),
  );
});
