/** Interrupted runs of the OpenAI Agents SDK, kept in a store and taken up again by a `Resumer`. */
import { ConfigError } from "../errors.js";
import type { RequestRecord } from "../wire.js";
import { type RunDriver, type Stage, StoredRuns, type StoredRunsOptions } from "./stored-runs.js";

/** What is needed of the gate that the agent's tools were made with. */
interface RunGate {
  requests(state: object): Promise<readonly RequestRecord[]>;
  decide(state: object): Promise<boolean>;
  interrupts(state: object): boolean;
}
interface Result {
  state: { toString(): string };
  finalOutput?: unknown;
}

export interface OpenAIRunsOptions extends StoredRunsOptions<unknown> {
  /** `RunState` of `@openai/agents`. */
  RunState: { fromString(agent: never, text: string): Promise<object> };
  /** `run` of `@openai/agents`, or of a `Runner`: `(agent, input) => runner.run(agent, input)`. */
  run: (agent: never, input: never) => PromiseLike<object>;
  /** The agent of a run, and the gate of its tools. It is called in a session of the run's name, in every process. */
  open: (run: string) => { agent: object; gate: RunGate } | Promise<{ agent: object; gate: RunGate }>;
}

/** Runs that are stored while they are interrupted. `start(run, input)` begins one; a `Resumer` takes it up again. */
export function storedRuns(options: OpenAIRunsOptions): StoredRuns<unknown, unknown> {
  const { RunState, run, open } = options;
  if (typeof RunState?.fromString !== "function" || typeof run !== "function" || typeof open !== "function") {
    throw new ConfigError('pass RunState, run and open: import { RunState, run } from "@openai/agents"');
  }
  const player = async (id: string): Promise<RunDriver<unknown, unknown>> => {
    const { agent, gate } = await open(id);
    const stage = (result: Result): Stage<unknown> =>
      // Interruptions of other tools are somebody else's to answer for.
      gate.interrupts(result.state)
        ? { state: result.state.toString() }
        : { output: result.finalOutput ?? null };
    const play = async (input: unknown) => stage((await run(agent as never, input as never)) as Result);
    const restored = (text: string) => RunState.fromString(agent as never, text);
    return {
      begin: play,
      ask: async (text) => gate.requests(await restored(text)),
      async goOn(text) {
        const state = await restored(text);
        return (await gate.decide(state)) ? play(state) : { state: text };
      },
    };
  };
  return new StoredRuns("openai-agents", options, player, { RunState: true, run: true, open: true });
}
