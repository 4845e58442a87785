/** Threads of a LangGraph checkpointer, for a `Resumer`. */
import { ConfigError } from "../errors.js";
import { checkOptions, type Names } from "../options.js";
import type { PausedRun, ResumeSource } from "../resume/resumer.js";
import type { RequestRecord } from "../wire.js";
import type { Gate } from "./common.js";

/** An interrupt as LangGraph returns it. */
export interface Interrupt {
  id?: string;
  value?: unknown;
}
interface Config {
  configurable: { thread_id: string };
}
interface Graph {
  getState(config: Config): Promise<{ tasks?: readonly { interrupts?: readonly Interrupt[] }[] }>;
}
interface Checkpoint {
  config: { configurable?: { thread_id?: unknown; checkpoint_ns?: unknown } };
  pendingWrites?: readonly unknown[][];
}

export interface ThreadsOptions {
  /** What `createAgent` or `compile` returned, with the gate and the checkpointer in it. */
  agent: object;
  /** The checkpointer of the agent: threads that wait are looked for in it. */
  checkpointer: { list(config: never): AsyncIterable<unknown> };
  /** `Command` of `@langchain/langgraph`. */
  Command: new (
    fields: never,
  ) => object;
  /** Names of the threads to look at, where an index of yours is quicker than a look at all checkpoints. */
  threads?: () => Promise<Iterable<string>>;
  /** What every call of the agent is to get besides, such as `recursionLimit` or `context`. */
  config?: object;
}

const NAMES = {
  ...{ agent: true, checkpointer: true, Command: true, threads: true, config: true },
} as const satisfies Names<ThreadsOptions>;

/** The request that a paused call shows. */
export function requestOf(value: unknown): string | undefined {
  const request = (value as { placet?: { request?: unknown } } | undefined)?.placet?.request;
  return typeof request === "string" && request !== "" ? request : undefined;
}

export class Threads implements ResumeSource {
  readonly framework = "langchain";
  readonly client;
  readonly #graph: Graph;

  constructor(
    private readonly gate: Gate,
    private readonly options: ThreadsOptions,
    private readonly decided: (found: { __interrupt__: readonly Interrupt[] }) => Promise<object | undefined>,
  ) {
    checkOptions("gate.threads", options, NAMES);
    const { agent, Command, checkpointer } = options;
    if (gate.mode !== "pause") throw new ConfigError('gate.threads needs mode: "pause"');
    if (typeof Command !== "function" || typeof checkpointer?.list !== "function") {
      throw new ConfigError(
        'gate.threads needs checkpointer, and Command: import { Command } from "@langchain/langgraph"',
      );
    }
    this.#graph = ((agent as { graph?: unknown }).graph ?? agent) as Graph;
    this.client = gate.client;
  }

  async waiting(): Promise<PausedRun[]> {
    const found: PausedRun[] = [];
    for (const thread of (await this.options.threads?.()) ?? (await this.#threads())) {
      const run = await this.find(thread);
      if (run) found.push(run);
    }
    return found;
  }

  async find(id: string): Promise<PausedRun | undefined> {
    const requests = (await this.#interrupts(id)).flatMap(({ value }) => requestOf(value) ?? []);
    return requests.length === 0 ? undefined : { id, requests };
  }

  runOf(record: RequestRecord): string | undefined {
    return this.gate.session === undefined ? record.session : undefined;
  }

  async goOn(id: string, { alone }: { alone: boolean }): Promise<void> {
    const interrupts = await this.#interrupts(id);
    const requests = interrupts.flatMap(({ value }) => requestOf(value) ?? []);
    const resume = await this.decided({ __interrupt__: interrupts });
    if (resume === undefined) return;
    const { agent, Command, config } = this.options;
    const { invoke } = agent as { invoke(input: object, config: object): Promise<unknown> };
    await this.gate.abandoning(alone ? requests : [], () =>
      // What was done is stored before the next thing is.
      invoke.call(agent, new Command({ resume } as never), {
        durability: "sync",
        ...config,
        ...this.#config(id),
      }),
    );
  }

  async #interrupts(id: string): Promise<Interrupt[]> {
    const { tasks } = await this.#graph.getState(this.#config(id));
    return (tasks ?? []).flatMap(({ interrupts }) => [...(interrupts ?? [])]);
  }

  #config(thread: string): Config {
    const { configurable } = (this.options.config ?? {}) as { configurable?: object };
    return { configurable: { ...configurable, thread_id: thread } };
  }

  /** Threads whose newest checkpoint has an interrupt. */
  async #threads(): Promise<Iterable<string>> {
    const { checkpointer } = this.options;
    const newest = new Map<string, boolean>();
    for await (const each of checkpointer.list({ configurable: {} } as never)) {
      const { config, pendingWrites } = each as Checkpoint;
      const { thread_id, checkpoint_ns = "" } = config.configurable ?? {};
      if (typeof thread_id !== "string" || checkpoint_ns !== "" || newest.has(thread_id)) continue;
      newest.set(thread_id, pendingWrites?.some(([, channel]) => channel === "__interrupt__") ?? true);
    }
    return [...newest].flatMap(([thread, waits]) => (waits ? [thread] : []));
  }
}
