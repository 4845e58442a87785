// OpenAI Agents SDK: interrupted runs are kept in files while they wait for a person, and go on in whatever process is there.
//
//   PLACET_URL=… PLACET_TOKEN=plk_agent_… node openai-agents.mjs FOLDER [RUN]…
import { join } from "node:path";
import { Agent, RunState, run, setTracingDisabled, tool, Usage } from "@openai/agents";
import { Placet } from "placet";
import { createGate, storedRuns } from "placet/openai-agents";
import { FileStore, Resumer } from "placet/resume";
import { callId, description, done, folder, paused, refund, schema, wanted, work } from "./shop.mjs";

setTracingDisabled(true);

/** A model that follows a script, so that this runs offline: it asks for a refund, then repeats what it was told. */
const scripted = (name) => ({
  async getResponse({ input }) {
    const told =
      typeof input === "string" ? undefined : input.find((item) => item.type === "function_call_result");
    const call = {
      type: "function_call",
      callId: callId(name),
      name: "refund",
      status: "completed",
      arguments: JSON.stringify(wanted(name)),
    };
    const text = { type: "output_text", text: JSON.stringify(told?.output) };
    const message = { type: "message", role: "assistant", status: "completed", content: [text] };
    return { usage: new Usage(), output: [told ? message : call] };
  },
});

const client = new Placet();
const runs = storedRuns({
  client,
  store: new FileStore(join(folder, "runs")),
  RunState,
  run,
  open(name) {
    const gate = createGate({ client, tool, mode: "pause" });
    const tools = [gate.tool({ name: "refund", description, parameters: schema, execute: refund })];
    return { gate, agent: new Agent({ name: "shop", model: scripted(name), tools }) };
  },
  onDone: done,
});

await work(runs, new Resumer(runs), async (name) => {
  const output = await runs.start(name, "Order arrived broken.");
  if (output === undefined) paused(name);
  else done(name, output);
});
