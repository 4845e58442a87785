// The Gemini API, as Gemini CLI speaks it.

/** @type {import("../model.mjs").Dialect} */
export const gemini = {
  name: "gemini",

  serves: (method, path) =>
    method === "POST" && /^\/v1beta\/models\/[^/:]+:(streamGenerateContent|generateContent|countTokens)$/.test(path),

  read(body) {
    const parts = (body.contents ?? []).flatMap((content) => content.parts ?? []);
    return {
      talk: body.contents ?? [],
      tools: (body.tools ?? []).flatMap((tool) => (tool.functionDeclarations ?? []).map((one) => one.name)),
      results: parts
        .filter((part) => part.functionResponse)
        .map((part) => ({
          id: part.functionResponse.id,
          text: JSON.stringify(part.functionResponse.response),
        })),
    };
  },

  call: (request, call) =>
    answer(request, { functionCall: { id: call.id, name: call.tool, args: call.input } }),

  say: (request, words) => answer(request, { text: words }),
};

function answer(request, part) {
  if (request.path.endsWith(":countTokens")) {
    return { totalTokens: 1 };
  }
  const data = {
    candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    modelVersion: "stand-in",
  };
  return request.path.endsWith(":streamGenerateContent") ? [{ data }] : data;
}
