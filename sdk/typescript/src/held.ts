/** The result of holding a call: run it with these arguments, or tell the model why not. */
import type { Placet } from "./client.js";
import { digest } from "./digest.js";
import * as errors from "./errors.js";
import type { ReportMode } from "./reports.js";
import type { Json, JsonObject, RequestRecord, Step } from "./wire.js";

export type Status =
  /** It may run: `go` is true. */
  | "approved"
  | "denied"
  /** The person answered in place of a run. */
  | "answered"
  | "expired"
  | "cancelled"
  | "revoked"
  | "lapsed"
  /** The service was away for longer than the budget. No person refused. */
  | "unreachable"
  /** Another process claimed it, perhaps this program before a restart. It may have run. */
  | "unknown"
  /** The local wait is over and the request was left open. */
  | "pending"
  /** Approved, but it cannot be run as approved. */
  | "failed";

/** What the model is told in place of the tool's result. */
export interface Refusal extends JsonObject {
  status: string;
  tool: string;
  message: string;
  reason: string | null;
  request: string | null;
}

/** @internal */
export interface HeldParts {
  status: Status;
  tool: string;
  record?: RequestRecord;
  arguments?: JsonObject;
  permit?: string;
  edited?: boolean;
  reason?: string;
  report?: ReportMode;
}

/** The server's bound is 8,192 bytes; an error message has none. */
const NOTE = 2_000;

export class Held {
  readonly status: Status;
  readonly tool: string;
  /** What to run: exactly what was approved. Empty unless `go`. */
  readonly arguments: JsonObject;
  readonly edited: boolean;
  readonly reason: string | undefined;
  /** The request as it was last seen. */
  readonly record: RequestRecord | undefined;
  /** Why the outcome could not be reported. The call ran anyway. */
  unreported: Error | undefined;
  #client: Placet;
  #permit: string | undefined;
  #report: Promise<void> | undefined;
  readonly #mode: ReportMode | undefined;
  #ran = false;

  /** @internal */
  constructor(client: Placet, parts: HeldParts) {
    this.#client = client;
    this.#permit = parts.permit;
    this.#mode = parts.report;
    this.status = parts.status;
    this.tool = parts.tool;
    this.record = parts.record;
    this.arguments = parts.arguments ?? {};
    this.edited = parts.edited ?? false;
    this.reason = parts.reason ?? parts.record?.decision?.reason ?? undefined;
  }

  /** Whether the call may run. */
  get go(): boolean {
    return this.status === "approved";
  }
  get requestId(): string | undefined {
    return this.record?.id;
  }
  /** The page of the request, as a whole address. */
  get url(): string | undefined {
    return this.record?.url;
  }
  /** The people who decided; empty if policy did. */
  get by(): readonly string[] {
    return this.record?.decision?.by ?? [];
  }
  /** What the person answered, to a question or in place of a run. */
  get answer(): Json | undefined {
    return this.record?.decision?.answer ?? undefined;
  }

  /** Of an approved plan: the steps to take, in the order approved and with the arguments approved. */
  get steps(): readonly Step[] {
    const proposed = (this.go && (this.record?.steps as Step[] | null | undefined)) || [];
    const decided = this.record?.decision?.steps;
    if (!decided) return proposed;
    return decided.flatMap(({ id, decision, arguments: edited }) => {
      const step = proposed.find((each) => each.id === id);
      if (!step || (decision !== "approve" && decision !== "edit")) return [];
      return [decision === "edit" ? { ...step, arguments: (edited ?? null) as JsonObject | null } : step];
    });
  }

  /** A structured result for the model, for everything that is not a yes. */
  result(): Refusal {
    return {
      status: this.status,
      tool: this.tool,
      reason: this.reason ?? null,
      message: this.message(),
      request: this.requestId ?? null,
      ...(this.status === "answered" ? { answer: this.answer ?? null } : {}),
    };
  }

  /** One sentence that a model understands. */
  message(): string {
    const why = this.reason === undefined ? "" : ` The reason: ${this.reason}`;
    switch (this.status) {
      case "approved":
        return "This call was approved.";
      case "denied":
        return `This call was denied, and nothing was run. Do not repeat it unchanged.${why}`;
      case "answered":
        return "Nothing was run: a person answered in place of the tool, see `answer`.";
      case "expired":
        return `Nobody decided in time, so nothing was run. This is not a refusal by a person.${why}`;
      case "cancelled":
        return `The request for approval was withdrawn, and nothing was run.${why}`;
      case "revoked":
        return `The approval was taken back before it was used, and nothing was run.${why}`;
      case "lapsed":
        return `The approval was not used in time, and nothing was run.${why}`;
      case "unreachable":
        return `The approval service cannot be reached; nobody said no, and nothing was run.${why}`;
      case "unknown":
        return `This call was approved and started before, and its outcome is not known here. It was not run again.${why}`;
      case "pending":
        return `Nobody has decided yet, and nothing was run. The request for approval stays open.${why}`;
      case "failed":
        return `The call was approved but could not be run as approved, and nothing was run.${why}`;
    }
  }

  /** Throws unless it may run. */
  raiseForRefusal(): void {
    if (this.go) return;
    const { requestId: id, reason } = this;
    const message = this.message();
    switch (this.status) {
      case "answered":
        throw new errors.Answered(message, id, this.answer ?? null);
      case "expired":
        throw new errors.Expired(message, id, reason);
      case "cancelled":
        throw new errors.Cancelled(message, id, reason);
      case "revoked":
        throw new errors.Revoked(message, id, reason);
      case "lapsed":
        throw new errors.Lapsed(message, id, reason);
      case "unreachable":
        throw new errors.Unreachable(message, id, reason);
      case "unknown":
        throw new errors.OutcomeUnknown(message, id, reason);
      case "pending":
        throw new errors.StillPending(message, id, reason);
      case "failed":
        throw new errors.NotRunnable(message, id, reason);
      default:
        throw new errors.Denied(message, id, reason);
    }
  }

  /** After an edit: text to append to the result, so that the model knows what ran. */
  note(): JsonObject | undefined {
    return this.edited ? { placet: { edited: true, executed_arguments: this.arguments } } : undefined;
  }

  /** Runs the function once with the approved arguments, and reports the outcome. */
  async run<T>(fn: (args: JsonObject) => T | PromiseLike<T>): Promise<T> {
    this.raiseForRefusal();
    if (this.#ran) throw new errors.PlacetError("this approval was used already: it is for one run");
    this.#ran = true;
    let value: T;
    try {
      value = await fn(this.arguments);
    } catch (error) {
      await this.failed(error);
      throw error;
    }
    await this.succeeded(value);
    return value;
  }

  /**
   * Reports that it worked. The value itself stays here; its digest travels. Never throws for an outage. With
   * `report: "background"` it does not wait for the report.
   */
  async succeeded(value?: unknown): Promise<void> {
    this.#reportable();
    await this.#client.reports.add(this.#worked(value), this.#mode);
  }

  async #worked(value: unknown): Promise<void> {
    let result: string | undefined;
    let note: string | undefined;
    if (value !== undefined) {
      try {
        result = await digest(value);
      } catch {
        note = "the result is not JSON";
      }
    }
    await this.#once("succeeded", result, note);
  }

  /** Reports that it was run and failed. Never throws for an outage. */
  async failed(error: unknown): Promise<void> {
    this.#reportable();
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    await this.#client.reports.add(this.#once("failed", undefined, shortened(text)), this.#mode);
  }

  #reportable(): void {
    if (this.go && this.requestId !== undefined) return;
    throw new errors.PlacetError(`there is nothing to report: the call is ${this.status}`);
  }

  async #once(status: "succeeded" | "failed", resultDigest?: string, note?: string): Promise<void> {
    const { requestId: id } = this;
    // A confirmation has no permit, and nothing to report.
    if (id === undefined || this.#permit === undefined) return;
    const outcome = { permit: this.#permit, status, resultDigest, note };
    this.#report ??= this.#client.reports
      .turn(this.#mode)
      .then(() => this.#client.report(id, outcome))
      .then(() => undefined)
      .catch((error: unknown) => {
        this.unreported = error instanceof Error ? error : new Error(String(error));
        this.#client.unreported(this, this.unreported);
      });
    await this.#report;
  }
}

function shortened(text: string): string {
  const clean = text.replace(/\p{Surrogate}/gu, "\u{fffd}");
  const points = [...clean];
  return points.length <= NOTE ? clean : `${points.slice(0, NOTE - 1).join("")}…`;
}
