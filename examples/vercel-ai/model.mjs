// A model that follows a script: it looks, wants to refund too much, then wants to delete the customer.
import { MockLanguageModelV4 } from "ai/test";

const script = [
  ["find_order", { order: "o-1" }],
  ["refund", { order: "o-1", amount: 1200 }],
  ["delete_customer", { customer: "c-7" }],
];
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

let turn = 0;
export const model = new MockLanguageModelV4({
  doGenerate: async () => {
    const next = script[turn];
    turn += 1;
    const content = next
      ? [{ type: "tool-call", toolCallId: `call-${turn}`, toolName: next[0], input: JSON.stringify(next[1]) }]
      : [{ type: "text", text: "The order is put right." }];
    const finishReason = { unified: next ? "tool-calls" : "stop", raw: undefined };
    return { content, finishReason, usage, warnings: [] };
  },
});
