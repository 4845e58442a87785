/** Suspended runs of a Mastra agent, for a `Resumer`. */
import { ConfigError } from "../errors.js";
import type { PausedRun, ResumeSource } from "../resume/resumer.js";
import type { Gate } from "./common.js";

interface SuspendedRun {
  runId: string;
  toolCalls: { suspendPayload?: unknown }[];
}
interface Agent {
  listSuspendedRuns(): Promise<{ runs: SuspendedRun[] }>;
  resumeGenerate(data: object, options: object): Promise<{ finishReason?: string }>;
}

/** Options of `resumeGenerate`, and who is told of results. */
export interface RunsOptions {
  /** Told what a run that was suspended has ended with. Mastra has forgotten the run by then: after a crash it is not told. */
  onDone?: (run: string, result: object) => unknown;
  [option: string]: unknown;
}

/** How deep a payload may lie: an agent inside an agent wraps it once more. */
const DEPTH = 8;

export class SuspendedRuns implements ResumeSource {
  readonly framework = "mastra";
  readonly client;
  readonly #agent: Agent;

  constructor(
    private readonly gate: Gate,
    agent: object,
    private readonly options: RunsOptions,
  ) {
    this.#agent = agent as Agent;
    if (gate.mode !== "pause") throw new ConfigError('gate.runs needs mode: "pause"');
    if (typeof this.#agent.listSuspendedRuns !== "function") {
      throw new ConfigError(
        "gate.runs takes an agent of a Mastra with storage: mastra.getAgent(…). This one cannot list its suspended runs",
      );
    }
    this.client = gate.client;
  }

  async waiting(): Promise<PausedRun[]> {
    const { runs } = await this.#agent.listSuspendedRuns();
    return runs.map(paused).filter(({ requests }) => requests.length > 0);
  }

  async find(run: string): Promise<PausedRun | undefined> {
    return (await this.waiting()).find(({ id }) => id === run);
  }

  async goOn(run: string, { alone }: { alone: boolean }): Promise<void> {
    const found = alone ? await this.find(run) : undefined;
    const { onDone, ...rest } = this.options;
    const result = await this.gate.abandoning(found?.requests ?? [], () =>
      this.#agent.resumeGenerate({ resumed: true }, { ...rest, runId: run }),
    );
    if (result.finishReason !== "suspended") await onDone?.(run, result);
  }
}

function paused({ runId, toolCalls }: SuspendedRun): PausedRun {
  return {
    id: runId,
    requests: [...new Set(toolCalls.flatMap(({ suspendPayload }) => requests(suspendPayload)))],
  };
}

/** The requests of ours in a payload. */
function requests(payload: unknown, depth = 0): string[] {
  if (typeof payload !== "object" || payload === null || depth > DEPTH) return [];
  const { placet } = payload as { placet?: { request?: unknown } };
  if (typeof placet?.request === "string" && placet.request !== "") return [placet.request];
  return Object.values(payload).flatMap((each) => requests(each, depth + 1));
}
