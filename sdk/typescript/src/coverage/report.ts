/** What of an agent is gated, what is not, and why: plain data, and the marks that it is read from. */

/** A gated tool. */
export interface GatedTool {
  name: string;
  /** The agent that has it: the one asked about, or one that it can hand over to. */
  agent: string;
}

/** The kind of an ungated tool. */
export type UngatedKind =
  | "tool"
  | "hosted"
  | "client"
  | "mcp"
  | "agent"
  | "middleware"
  | "settings"
  | "dynamic";

export interface UngatedTool extends GatedTool {
  kind: UngatedKind;
  /** One clause: what it is, and why it is not gated. */
  why: string;
  /** Whether the program left this very tool out. */
  chosen: boolean;
}

/** What an adapter can tell about one agent. */
export class Coverage {
  readonly framework: string;
  readonly agent: string;
  readonly gated: readonly GatedTool[];
  readonly ungated: readonly UngatedTool[];

  constructor(parts: { framework: string; agent: string; gated: GatedTool[]; ungated: UngatedTool[] }) {
    this.framework = parts.framework;
    this.agent = parts.agent;
    this.gated = parts.gated;
    this.ungated = parts.ungated;
  }

  /** Whether every ungated tool was left out by the program itself. */
  get complete(): boolean {
    return this.uncovered.length === 0;
  }

  /** Ungated tools that were not left out on purpose. */
  get uncovered(): readonly UngatedTool[] {
    return this.ungated.filter(({ chosen }) => !chosen);
  }

  /** What `JSON.stringify` writes. */
  toJSON(): {
    framework: string;
    agent: string;
    complete: boolean;
    gated: GatedTool[];
    ungated: UngatedTool[];
  } {
    const { framework, agent, complete } = this;
    return { framework, agent, complete, gated: [...this.gated], ungated: [...this.ungated] };
  }

  toString(): string {
    const place = ({ name, agent }: GatedTool) => (agent === this.agent ? name : `${name} of ${agent}`);
    return [
      `${this.agent} (${this.framework}): ${this.gated.length} gated, ${this.ungated.length} not`,
      ...this.gated.map((each) => `  gated      ${place(each)}`),
      ...this.ungated.map(
        (each) => `  ${each.chosen ? "left out " : "NOT GATED"}  ${place(each)}: ${each.why}`,
      ),
    ].join("\n");
  }
}

/** Gathers what an inspection finds. */
export class Findings {
  readonly gated: GatedTool[] = [];
  readonly ungated: UngatedTool[] = [];

  constructor(
    readonly framework: string,
    readonly agent: string,
  ) {}

  holds(name: string, agent = this.agent): void {
    this.gated.push({ name, agent });
  }

  misses(
    name: string,
    kind: UngatedKind,
    why: string,
    more: { agent?: string; chosen?: boolean } = {},
  ): void {
    const { agent = this.agent, chosen = false } = more;
    this.ungated.push({ name, agent, kind, why, chosen });
  }

  /** A function tool, by the mark of the function that runs it. */
  tool(name: string, runs: unknown, why: string, agent = this.agent): void {
    const found = marked(runs);
    if (found === "gated") this.holds(name, agent);
    else if (found === "left out") this.misses(name, "tool", "left out by `only`", { agent, chosen: true });
    else this.misses(name, "tool", why, { agent });
  }

  report(): Coverage {
    const { framework, agent, gated, ungated } = this;
    return new Coverage({ framework, agent, gated, ungated });
  }
}

export const HOSTED = "it runs at the model's provider, where nothing of it is seen";
export const ELSEWHERE = "it has no execute: it runs elsewhere, and must be held there";

/** Marks functions and not tools: a copied tool keeps the mark, and a tool with a new function loses it. */
const MARK = Symbol.for("placet.gate");
export type GateMark = "gated" | "left out";

export function mark<F>(fn: F, as: GateMark): F {
  Object.defineProperty(fn, MARK, { value: as, configurable: true });
  return fn;
}

export function marked(fn: unknown): GateMark | undefined {
  return typeof fn === "function" ? (fn as { [MARK]?: GateMark })[MARK] : undefined;
}
