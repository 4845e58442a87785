/** What all frameworks are put through: tools with counted effects, a model that follows a script, people who decide. */
import { afterAll, beforeAll } from "vitest";
import type { AdapterOptions } from "../../src/adapters/common.js";
import type { Json, JsonObject, RequestRecord } from "../../src/index.js";
import { type Reviewer, Server } from "../support/server.js";
import type { FrameworkName } from "./topology.js";

/** `free_…` passes, `never_…` is denied, everything else waits for a person. */
export const POLICY = `version = 1
name = "adapter tests"

[defaults]
effect = "hold"
risk = "low"
expires_in = "2m"

[[rule]]
name = "free"
effect = "allow"
tool = ["free_*", "mcp__files__free_*"]

[[rule]]
name = "never"
effect = "deny"
tool = ["never_*", "mcp__files__never_*"]
reason = "nobody does this"
`;

/** One call that the model asks for. */
export interface ModelCall {
  id: string;
  tool: string;
  args: JsonObject;
}

/** What the agent may call: each takes `{ files: string[] }`. */
export type Tools = { [name: string]: (args: { files: string[] }) => unknown };

export interface Play {
  /** What the model asks for, turn by turn; then it says that it is done. */
  turns: ModelCall[][];
  tools: Tools;
  gate: AdapterOptions;
  signal?: AbortSignal;
}

/** What the model was told of each call, by id. */
export type Told = Map<string, string>;

/** A framework with a scripted model, around one run. */
export interface Framework {
  name: string;
  /** Its column in the table of topologies. */
  of?: FrameworkName;
  /** Runs an agent to its end. Rejects if the run does. */
  run(play: Play): Promise<Told>;
  /** An agent whose model hands the play to another agent; the gate is around the tools of that one. */
  nested(play: Play): Promise<Told>;
  /** What the framework makes of a tool's name. */
  named?: (tool: string) => string;
  /** Whether the calls of one turn are made one after the other. */
  sequential?: boolean;
  /** Whether an error of a tool ends the run; otherwise the model is told. */
  raises?: boolean;
  /** Whether it does not say what its tools take. */
  untyped?: boolean;
}

/** A place to play in: the real server, and a reviewer, from the first test of a block to its last. */
export class Stage {
  server!: Server;
  ann!: Reviewer;

  async open(): Promise<void> {
    this.server = await Server.start({ policy: POLICY });
    this.ann = await this.server.reviewer("ann");
  }

  /** Options of a gate in a session of its own. */
  gate(session: string, more: AdapterOptions = {}): AdapterOptions {
    return { client: this.server.agent({ outageBudget: "2s" }), session, ...more };
  }

  /** Everything that was asked in a session, oldest first. */
  async requests(session: string): Promise<RequestRecord[]> {
    const { items } = await this.ann.client.list({ session, limit: "100" });
    return items.reverse();
  }

  async states(session: string): Promise<string[]> {
    return (await this.requests(session)).map(({ state }) => state);
  }

  /** Other calls are allowed, claimed and reported: what was begun before would have run by now. */
  async fence(): Promise<void> {
    const placet = this.server.agent();
    for (let n = 0; n < 5; n += 1)
      await placet.run({ tool: "free_fence", arguments: { n }, session: fresh("fence") }, () => n);
  }

  async close(): Promise<void> {
    await this.server?.stop();
  }
}

/** A stage for the tests of the block that asks for it. */
export function onStage(): Stage {
  const stage = new Stage();
  beforeAll(() => stage.open());
  afterAll(() => stage.close());
  return stage;
}

/** The call of a session that has this number. */
export const call = (session: string, at: number, files: string[], tool = "delete_files"): ModelCall => ({
  id: `${session}-${at}`,
  tool,
  args: { files },
});

/** A tool that leaves its arguments behind each time it runs. */
export class Effect {
  readonly ran: unknown[] = [];
  constructor(private readonly then: (files: string[]) => unknown = (files) => ({ deleted: files.length })) {}
  readonly run = ({ files }: { files: string[] }): unknown => {
    this.ran.push({ files });
    return this.then(files);
  };
}

let count = 0;
/** Sessions and call ids that no other test has. */
export function fresh(name: string): string {
  count += 1;
  return `${name}-${process.pid}-${count}`;
}

export const inSession = (session: string) => (record: RequestRecord) => record.session === session;
export const about =
  (session: string, file: string) =>
  (record: RequestRecord): boolean =>
    record.session === session && JSON.stringify(record.arguments).includes(file);

/** Whatever the framework made of a tool's result, as text. */
export function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value as Json);
}
