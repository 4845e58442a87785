// The Responses API, as Codex speaks it.

/** @type {import("../model.mjs").Dialect} */
export const responses = {
  name: "responses",

  serves: (method, path) => method === "POST" && path === "/v1/responses",

  read(body) {
    return {
      talk: body.input,
      tools: (body.tools ?? []).map((tool) => tool.name ?? tool.type),
      results: body.input
        .filter((item) => item.type === "function_call_output")
        .map((item) => ({
          id: item.call_id,
          text: typeof item.output === "string" ? item.output : JSON.stringify(item.output),
        })),
    };
  },

  call: (_, call) =>
    response({
      type: "function_call",
      id: `fc_${call.id}`,
      call_id: call.id,
      name: call.tool,
      ...(call.namespace ? { namespace: call.namespace } : {}),
      arguments: JSON.stringify(call.input),
      status: "completed",
    }),

  say: (_, words) =>
    response({
      type: "message",
      id: "msg_stand_in",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: words, annotations: [] }],
    }),
};

function response(item) {
  const usage = {
    input_tokens: 1,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 1,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 2,
  };
  const events = [
    { type: "response.created", response: { id: "resp_stand_in", status: "in_progress", output: [] } },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { id: "resp_stand_in", status: "completed", output: [item], usage } },
  ];
  return events.map((data) => ({ event: data.type, data }));
}
