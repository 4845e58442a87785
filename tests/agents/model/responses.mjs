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

  call: (_, calls) =>
    response(
      calls.map(({ id, tool, namespace, input }) => ({
        type: "function_call",
        id: `fc_${id}`,
        call_id: id,
        name: tool,
        ...(namespace ? { namespace } : {}),
        arguments: JSON.stringify(input),
        status: "completed",
      })),
    ),

  say: (_, words) =>
    response([
      {
        type: "message",
        id: "msg_stand_in",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: words, annotations: [] }],
      },
    ]),
};

function response(output) {
  const id = "resp_stand_in";
  const usage = {
    input_tokens: 1,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 1,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 2,
  };
  const events = [
    { type: "response.created", response: { id, status: "in_progress", output: [] } },
    ...output.map((item, output_index) => ({ type: "response.output_item.done", output_index, item })),
    { type: "response.completed", response: { id, status: "completed", output, usage } },
  ];
  return events.map((data) => ({ event: data.type, data }));
}
