// The Gemini API, as Gemini CLI speaks it.

/** @type {import("../model.mjs").Dialect} */
export const gemini = {
  name: "gemini",

  serves: (method, path) =>
    method === "POST" &&
    /^\/v1beta\/models\/[^/:]+:(streamGenerateContent|generateContent|countTokens)$/.test(path),

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

  call: (request, calls) =>
    answer(
      request,
      calls.map(({ id, tool, input }) => ({ functionCall: { id, name: tool, args: input } })),
    ),

  say: (request, words) => answer(request, [{ text: words }]),
};

function answer(request, parts) {
  if (request.path.endsWith(":countTokens")) {
    return { totalTokens: 1 };
  }
  const data = {
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    modelVersion: "stand-in",
  };
  return request.path.endsWith(":streamGenerateContent") ? [{ data }] : data;
}
