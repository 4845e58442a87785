/** A chat model that asks for what the script says, and remembers what it was told. */
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import { type ModelCall, type Told, text } from "./stage.js";

class Scripted extends BaseChatModel {
  constructor(
    readonly turns: ModelCall[][],
    readonly told: Told,
  ) {
    super({});
  }
  override _llmType(): string {
    return "scripted";
  }
  override bindTools(): this {
    return this;
  }
  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const answered = new Set<string>();
    for (const message of messages) {
      if (!ToolMessage.isInstance(message)) continue;
      answered.add(message.tool_call_id);
      this.told.set(message.tool_call_id, text(message.content));
    }
    const turn = this.turns.find((calls) => calls.some(({ id }) => !answered.has(id)));
    const message = new AIMessage({
      content: turn ? "" : "done",
      tool_calls: (turn ?? []).map(({ id, tool, args }) => ({ id, name: tool, args, type: "tool_call" })),
    });
    return { generations: [{ text: text(message.content), message }] };
  }
}

export const scripted = (turns: ModelCall[][], told: Told) => new Scripted(turns, told);
