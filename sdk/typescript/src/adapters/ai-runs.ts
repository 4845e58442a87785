/** Conversations of the AI SDK that wait for approvals, kept in a store and taken up again by a `Resumer`. */
import { ConfigError } from "../errors.js";
import type { RequestRecord } from "../wire.js";
import { type RunDriver, type Stage, StoredRuns, type StoredRunsOptions } from "./stored-runs.js";

interface Message {
  role: string;
  content: unknown;
}
/** What is needed of the gate that the tools went through. */
interface RunGate {
  requests(messages: readonly Message[]): Promise<readonly RequestRecord[]>;
  decided(messages: readonly Message[]): Promise<Message | undefined>;
  waits(messages: readonly Message[]): boolean;
}
/** What `generateText`, `streamText` and `agent.generate` return. */
interface Result {
  /** The messages of all steps; before version 7 they are in `response`. */
  responseMessages?: PromiseLike<readonly Message[]> | readonly Message[];
  response: PromiseLike<{ messages: readonly Message[] }> | { messages: readonly Message[] };
}

export interface AiRunsOptions<M extends Message> extends StoredRunsOptions<M[]> {
  /**
   * The gate of a conversation, and how it goes on: `(messages) => generateText({ model, tools, messages })`. It is called in
   * a session of the run's name, in every process.
   */
  open: (run: string) => OpenedRun<M> | Promise<OpenedRun<M>>;
}
interface OpenedRun<M> {
  gate: RunGate;
  generate: (messages: M[]) => PromiseLike<object>;
}

/** Conversations that are stored while they wait. `start(run, messages)` begins one; a `Resumer` takes it up again. */
export function storedRuns<M extends Message>(options: AiRunsOptions<M>): StoredRuns<M[], M[]> {
  const { open } = options;
  if (typeof open !== "function") throw new ConfigError("pass open: (run) => ({ gate, generate })");
  const player = async (id: string): Promise<RunDriver<M[], M[]>> => {
    const { gate, generate } = await open(id);
    const play = async (messages: M[]): Promise<Stage<M[]>> => {
      const result = (await generate(messages)) as Result;
      const more = (await result.responseMessages) ?? (await result.response).messages;
      const all = [...messages, ...more] as M[];
      return gate.waits(all) ? { state: JSON.stringify(all) } : { output: all };
    };
    const read = (state: string) => JSON.parse(state) as M[];
    return {
      begin: play,
      ask: async (state) => gate.requests(read(state)),
      async goOn(state) {
        const messages = read(state);
        const answer = await gate.decided(messages);
        return answer ? play([...messages, answer as M]) : { state };
      },
    };
  };
  return new StoredRuns("ai-sdk", options, player, { open: true });
}
