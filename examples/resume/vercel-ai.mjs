// Vercel AI SDK: conversations are kept in files while they wait for a person, and go on in whatever process is there.
//
//   PLACET_URL=… PLACET_TOKEN=plk_agent_… node vercel-ai.mjs FOLDER [RUN]…
import { join } from "node:path";
import { generateText, isStepCount, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { Placet } from "placet";
import { createGate, storedRuns } from "placet/ai";
import { FileStore, Resumer } from "placet/resume";
import { callId, description, done, folder, paused, refund, schema, wanted, work } from "./shop.mjs";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model that follows a script, so that this runs offline: it asks for a refund, then repeats what it was told. */
const scripted = (run) =>
  new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const parts = prompt.flatMap(({ content }) => (Array.isArray(content) ? content : []));
      const told = parts.find(({ type }) => type === "tool-result");
      const input = JSON.stringify(wanted(run));
      const content = told
        ? [{ type: "text", text: JSON.stringify(told.output) }]
        : [{ type: "tool-call", toolCallId: callId(run), toolName: "refund", input }];
      const finishReason = { unified: told ? "stop" : "tool-calls", raw: undefined };
      return { content, finishReason, usage, warnings: [] };
    },
  });

const client = new Placet();
const runs = storedRuns({
  client,
  store: new FileStore(join(folder, "runs")),
  open(run) {
    const gate = createGate({ client, mode: "pause" });
    const tools = gate.tools({ refund: tool({ description, inputSchema: schema, execute: refund }) });
    const stopWhen = isStepCount(9);
    return {
      gate,
      generate: (messages) => generateText({ model: scripted(run), tools, messages, stopWhen }),
    };
  },
  onDone: (run, messages) => done(run, text(messages)),
});
const text = (messages) =>
  messages
    .at(-1)
    .content.map((part) => part.text)
    .join("");

await work(runs, new Resumer(runs), async (run) => {
  const messages = await runs.start(run, [{ role: "user", content: "Order arrived broken." }]);
  if (messages) done(run, text(messages));
  else paused(run);
});
