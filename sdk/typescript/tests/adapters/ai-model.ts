/** A model of the AI SDK that asks for what the script says, and remembers what it was told. */
import { MockLanguageModelV4 } from "ai/test";
import { type ModelCall, type Told, text } from "./stage.js";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
type Options = Parameters<MockLanguageModelV4["doGenerate"]>[0];
type Content = Awaited<ReturnType<MockLanguageModelV4["doGenerate"]>>["content"];
type Streamed = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"];
type StreamPart = Streamed extends ReadableStream<infer Part> ? Part : never;

/** Each turn is asked for once its calls are not answered yet; then the model says that it is done. */
export function scripted(turns: ModelCall[][], told: Told): MockLanguageModelV4 {
  const next = (options: Options): Content => {
    for (const message of options.prompt) {
      if (message.role !== "tool") continue;
      for (const part of message.content) {
        if (part.type === "tool-result") told.set(part.toolCallId, output(part.output));
      }
    }
    const turn = turns.find((calls) => calls.some(({ id }) => !told.has(id)));
    if (!turn) return [{ type: "text", text: "done" }];
    return turn.map(({ id, tool, args }) => ({
      type: "tool-call",
      toolCallId: id,
      toolName: tool,
      input: JSON.stringify(args),
    }));
  };
  const reason = (content: Content) => ({
    unified: content.some(({ type }) => type === "tool-call") ? ("tool-calls" as const) : ("stop" as const),
    raw: undefined,
  });
  return new MockLanguageModelV4({
    doGenerate: async (options) => {
      const content = next(options);
      return { content, finishReason: reason(content), usage, warnings: [] };
    },
    doStream: async (options) => {
      const content = next(options);
      const parts = content.flatMap((part): StreamPart[] =>
        part.type === "text"
          ? [
              { type: "text-start", id: "t" },
              { type: "text-delta", id: "t", delta: part.text },
              { type: "text-end", id: "t" },
            ]
          : [part as StreamPart],
      );
      const all: StreamPart[] = [
        { type: "stream-start", warnings: [] },
        ...parts,
        { type: "finish", finishReason: reason(content), usage },
      ];
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const part of all) controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
  });
}

function output(given: { type: string; value?: unknown; reason?: string }): string {
  return given.type === "execution-denied" ? `denied: ${given.reason ?? ""}` : text(given.value);
}
