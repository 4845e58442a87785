/** A model of the OpenAI Agents SDK that asks for what the script says, and remembers what it was told. */
import { type Model, type ModelRequest, type ModelResponse, type StreamEvent, Usage } from "@openai/agents";
import { type ModelCall, type Told, text } from "./stage.js";

export function scripted(turns: ModelCall[][], told: Told): Model {
  const answer = (request: ModelRequest): ModelResponse => {
    const answered = new Set<string>();
    for (const item of typeof request.input === "string" ? [] : request.input) {
      if (item.type !== "function_call_result") continue;
      answered.add(item.callId);
      told.set(item.callId, output(item.output));
    }
    const turn = turns.find((calls) => calls.some(({ id }) => !answered.has(id)));
    return {
      usage: new Usage(),
      output: turn
        ? turn.map(({ id, tool, args }) => ({
            type: "function_call",
            callId: id,
            name: tool,
            status: "completed",
            arguments: JSON.stringify(args),
          }))
        : [
            {
              type: "message",
              role: "assistant",
              status: "completed",
              content: [{ type: "output_text", text: "done" }],
            },
          ],
    };
  };
  return {
    getResponse: async (request) => answer(request),
    async *getStreamedResponse(request) {
      const { output } = answer(request);
      const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
      yield { type: "response_done", response: { id: "r", usage, output } } as StreamEvent;
    },
  };
}

function output(given: unknown): string {
  const { text: plain } = (given ?? {}) as { text?: unknown };
  return text(plain ?? given);
}
