// The Chat Completions API, as OpenCode speaks it to a provider of one's own.

/** @type {import("../model.mjs").Dialect} */
export const chat = {
  name: "chat",

  serves: (method, path) => method === "POST" && path === "/v1/chat/completions",

  read(body) {
    return {
      talk: body.messages,
      tools: (body.tools ?? []).map((tool) => tool.function.name),
      results: body.messages
        .filter((message) => message.role === "tool")
        .map((message) => ({
          id: message.tool_call_id,
          text: typeof message.content === "string" ? message.content : JSON.stringify(message.content),
        })),
    };
  },

  call: (request, calls) =>
    completion(request, "tool_calls", {
      role: "assistant",
      content: null,
      tool_calls: calls.map(({ id, tool, input }, index) => ({
        index,
        id,
        type: "function",
        function: { name: tool, arguments: JSON.stringify(input) },
      })),
    }),

  say: (request, words) => completion(request, "stop", { role: "assistant", content: words }),
};

function completion(request, finish_reason, message) {
  const common = { id: "chatcmpl_stand_in", created: 0, model: request.model };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  if (!request.stream) {
    return { ...common, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage };
  }
  const chunk = { ...common, object: "chat.completion.chunk" };
  return [
    { data: { ...chunk, choices: [{ index: 0, delta: message, finish_reason: null }] } },
    { data: { ...chunk, choices: [{ index: 0, delta: {}, finish_reason }], usage } },
    { data: "[DONE]" },
  ];
}
