// The Messages API, as Claude Code speaks it.

/** @type {import("../model.mjs").Dialect} */
export const anthropic = {
  name: "messages",

  serves: (method, path) => method === "POST" && path === "/v1/messages",

  read(body) {
    const blocks = body.messages.flatMap((message) =>
      Array.isArray(message.content) ? message.content : [],
    );
    return {
      talk: body.messages,
      tools: (body.tools ?? []).map((tool) => tool.name),
      results: blocks
        .filter((block) => block.type === "tool_result")
        .map((block) => ({ id: block.tool_use_id, text: text(block.content) })),
    };
  },

  call: (request, calls) =>
    message(
      request,
      "tool_use",
      calls.map(({ id, tool, input }) => ({
        start: { type: "tool_use", id, name: tool, input: {} },
        delta: { type: "input_json_delta", partial_json: JSON.stringify(input) },
        whole: { type: "tool_use", id, name: tool, input },
      })),
    ),

  say: (request, words) =>
    message(request, "end_turn", [
      {
        start: { type: "text", text: "" },
        delta: { type: "text_delta", text: words },
        whole: { type: "text", text: words },
      },
    ]),
};

function message(request, stop_reason, blocks) {
  const whole = {
    id: "msg_stand_in",
    type: "message",
    role: "assistant",
    model: request.model,
    content: blocks.map((block) => block.whole),
    stop_reason,
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  if (!request.stream) {
    return whole;
  }
  const events = [
    { type: "message_start", message: { ...whole, content: [], stop_reason: null } },
    ...blocks.flatMap(({ start, delta }, index) => [
      { type: "content_block_start", index, content_block: start },
      { type: "content_block_delta", index, delta },
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } },
    { type: "message_stop" },
  ];
  return events.map((data) => ({ event: data.type, data }));
}

function text(content) {
  return Array.isArray(content) ? content.map((part) => part.text ?? "").join("\n") : String(content);
}
