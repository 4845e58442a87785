/** The options that all adapters share, checked before anything runs. */
import type { Placet } from "../client.js";
import type { Coverage } from "../coverage/report.js";
import type { Duration } from "../duration.js";
import { ConfigError } from "../errors.js";
import type { OnWaiting } from "../notice.js";
import {
  checkListener,
  checkOptions,
  checkRequestWords,
  checkWord,
  type Names,
  nearest,
  REFUSALS,
} from "../options.js";
import type { DecisionWord, JsonObject, Risk } from "../wire.js";

/** What is the same for all frameworks. */
export interface AdapterOptions {
  /** Made from `PLACET_URL` and `PLACET_TOKEN` unless given. */
  client?: Placet;
  /** Groups the requests for people, and lets a restarted program find its open requests again. */
  session?: string;
  app?: string;
  /**
   * Which tools are held, by name or by a function; all of them unless given. A name that no tool has is an error. Policy
   * may let a held call pass at once.
   */
  only?: readonly string[] | ((tool: string) => boolean);
  /**
   * `block` waits inside the call. `pause` ends the run in the framework's own way while nobody has decided; when it is
   * resumed, the decision is read from Placet and from nowhere else.
   */
  mode?: "block" | "pause";
  risk?: Risk | ((tool: string, args: JsonObject) => Risk | undefined);
  /** The agent's own words: shown as untrusted text. */
  summary?: string | ((tool: string, args: JsonObject) => string | undefined);
  /** Where the call comes from; covered by the digest. */
  context?: JsonObject;
  allowed?: readonly DecisionWord[];
  /** How long deciding may take; kept by the server. */
  expiresIn?: Duration;
  /** How long to wait here before the request is withdrawn (or, in `pause`, before the run pauses). */
  holdFor?: Duration;
  onBehalfOf?: string;
  /** What the model gets for a call that may not run: a structured result, or an exception. */
  onDenied?: "return" | "raise";
  /**
   * What to do about tools that the adapter sees and cannot hold, such as those that run at the model's provider. The
   * agent does not start, unless this is `allow`.
   */
  uncovered?: "refuse" | "allow";
  /** Told when a call waits for a person, in place of the client's own; `null` tells nobody. */
  onWaiting?: OnWaiting | null;
  /** Told of every error on the way to a decision. The call did not run, whatever this does. */
  onError?: (error: unknown) => void;
}

const SHARED = {
  ...{ client: true, session: true, app: true, only: true, mode: true, risk: true, summary: true },
  ...{ context: true, allowed: true, expiresIn: true, holdFor: true, onBehalfOf: true, onDenied: true },
  ...{ uncovered: true, onWaiting: true, onError: true },
} as const satisfies Names<AdapterOptions>;

/** Refuses what no adapter knows; `own` are the names that only this one has. */
export function checkAdapter(options: AdapterOptions, own: Record<string, true>): void {
  checkOptions("createGate", options, { ...SHARED, ...own });
  checkWord("mode", options.mode, ["block", "pause"]);
  checkWord("onDenied", options.onDenied, REFUSALS);
  checkWord("uncovered", options.uncovered, ["refuse", "allow"]);
  checkListener("onWaiting", options.onWaiting);
  checkRequestWords(options);
}

/** Which tools are held, and whether the names for that are names of tools. */
export class ToolFilter {
  readonly #only: AdapterOptions["only"];
  readonly #seen = new Set<string>();
  #checked: boolean;

  constructor(only: AdapterOptions["only"]) {
    if (only !== undefined && typeof only !== "function") {
      if (!Array.isArray(only) || only.some((name) => typeof name !== "string")) {
        throw new ConfigError("only must be a list of tool names or a function");
      }
      if (only.length === 0) throw new ConfigError("only is an empty list: no tool would be held");
    }
    this.#only = only;
    this.#checked = !Array.isArray(only);
  }

  /** The names that must be names of tools. */
  get names(): readonly string[] {
    return Array.isArray(this.#only) ? this.#only : [];
  }

  holds(tool: string): boolean {
    if (this.#only === undefined) return true;
    return typeof this.#only === "function" ? this.#only(tool) !== false : this.#only.includes(tool);
  }

  /** Whether a tool may run unasked: it is left out, and by names that are right. */
  passes(tool: string): boolean {
    return this.#checked && !this.holds(tool);
  }

  /** Tools that exist, where they are made one by one. */
  see(...tools: string[]): void {
    for (const tool of tools) this.#seen.add(tool);
  }

  /** For tools that were seen one by one, before the first of them is used. */
  check(): void {
    if (!this.#checked) this.among([...this.#seen]);
  }

  /** A name that is none of these is a slip of the pen, and a tool that runs without being held. */
  among(tools: readonly string[]): void {
    const unknown = this.names.filter((name) => !tools.includes(name));
    if (unknown.length > 0) throw new ConfigError(misspelt(unknown, tools));
    this.#checked = true;
  }
}

function misspelt(unknown: readonly string[], tools: readonly string[]): string {
  const near = unknown.flatMap((name) => nearest(name, tools));
  const meant = near.length === 0 ? "" : `. Did you mean ${[...new Set(near)].join(" or ")}?`;
  return `only names ${unknown.join(", ")}, which is not among the tools: ${tools.join(", ")}${meant}`;
}

/** Refuses to start an agent that would run something unasked. */
export function refuseUncovered(found: Coverage, options: AdapterOptions, advice: string): void {
  const { uncovered } = found;
  if (uncovered.length === 0 || options.uncovered === "allow") return;
  const each = uncovered.map(({ name, agent, why }) =>
    agent === found.agent ? `${name} (${why})` : `${name} of ${agent} (${why})`,
  );
  throw new ConfigError(
    `${found.agent} has what would run without being asked about: ${each.join("; ")}. ${advice}, or pass uncovered: "allow"`,
  );
}
