/** Reports the coverage of an agent to the server: at its start, and again when more is known. */
import type { Placet } from "../client.js";
import { Problem } from "../errors.js";
import { sleep } from "../retry.js";
import type { Coverage } from "./report.js";

export interface ReportPart {
  name: string;
  kind: string;
  agent: string;
  status: "gated" | "unasked" | "uncovered";
  why: string;
}

/** A report as the server takes it. */
export interface CoverageReport {
  framework: string;
  agent: string;
  parts: ReportPart[];
}

/** What the server keeps of one report: so many parts, and so many bytes of a name and of a reason. */
const PARTS = 256;
const NAME = 200;
const WHY = 300;
/** Milliseconds that the first call of a tool waits for the server to know. */
const PATIENCE = 5_000;

/** The coverage reports of one gate. */
export class CoverageReporter {
  readonly #parts = new Map<string, ReportPart>();
  #said = "";
  #underWay: Promise<void> | undefined;

  constructor(private readonly client: Placet) {}

  /** Adds parts to the report and sends it. Errors do not stop the caller. */
  tell(found: Coverage): void {
    for (const part of partsOf(found)) {
      this.#parts.set(JSON.stringify([part.agent, part.kind, part.name]), part);
    }
    const parts = [...this.#parts.values()].toSorted((a, b) => order(a) - order(b)).slice(0, PARTS);
    const report: CoverageReport = { framework: plain(found.framework), agent: plain(found.agent), parts };
    const text = JSON.stringify(report);
    if (text === this.#said) return;
    this.#said = text;
    const before = this.#underWay ?? Promise.resolve();
    const sent: Promise<void> = before
      .then(() => this.client.reportCoverage(report))
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        if (this.#underWay === sent) this.#underWay = undefined;
      });
    this.#underWay = sent;
  }

  /** Resolves when the server has the report, because policy may refuse an agent with uncovered tools. */
  async told(): Promise<void> {
    if (this.#underWay === undefined) return;
    const over = new AbortController();
    const patience = sleep(PATIENCE, over.signal).catch(() => undefined);
    await Promise.race([this.#underWay, patience]);
    over.abort();
  }

  #failed(error: unknown): void {
    // An older server has no reports, and a server without keys stores none.
    if (error instanceof Problem && (error.status === 404 || error.status === 405)) return;
    this.#said = "";
    // Not an error on the way to a decision: the calls themselves say what is wrong, and to the server the agent is unknown.
    console.warn(`placet: what the agent can do could not be reported: ${(error as Error).message}`);
  }
}

function partsOf(found: Coverage): ReportPart[] {
  return [
    ...found.gated.map(({ name, agent }) => {
      return part(name, "tool", agent, "gated", "each call asks before it runs");
    }),
    ...found.ungated.map(({ name, kind, agent, why, chosen }) => {
      return part(name, kind, agent, chosen ? "unasked" : "uncovered", why);
    }),
  ];
}

function part(
  name: string,
  kind: string,
  agent: string,
  status: ReportPart["status"],
  why: string,
): ReportPart {
  return { name: plain(name), kind: plain(kind), agent: plain(agent), status, why: plain(why, WHY, "") };
}

/** Uncovered parts come first, so that none of them is cut off. */
function order({ status }: ReportPart): number {
  return status === "uncovered" ? 0 : 1;
}

/** One line that can be shown. */
function plain(text: string, most = NAME, empty = "?"): string {
  const shown = text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, " ").trim();
  const bytes = new TextEncoder().encode(shown).slice(0, most);
  const cut = new TextDecoder().decode(bytes).replace(/�$/u, "").trim();
  return cut === "" ? empty : cut;
}
