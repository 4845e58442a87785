/** Create, wait, claim: the steps that decide whether a call may run. It may run only after a claim that answered 200. */
import * as answer from "./answer.js";
import type { PreparedRequest } from "./call.js";
import { misfit } from "./check.js";
import type { OnOutage, Placet } from "./client.js";
import { type Duration, milliseconds } from "./duration.js";
import { Problem, ProtocolError, Unreachable } from "./errors.js";
import { Held, type HeldParts, type Status } from "./held.js";
import * as keys from "./keys.js";
import type { OnWaiting, Waiting } from "./notice.js";
import { checkListener, checkWord, OUTAGES, REPORTS } from "./options.js";
import type { ReportMode } from "./reports.js";
import { orAborted } from "./retry.js";
import type { Session } from "./session.js";
import type { Claimed, CreateBody, RequestRecord } from "./wire.js";

export interface HoldOptions {
  /** How long to wait here. The request's own deadline, `expiresIn`, is kept by the server. */
  holdFor?: Duration;
  /** What the end of `holdFor` does to the request: `cancel` it, or `leave` it open to ask again later. */
  then?: "cancel" | "leave";
  onOutage?: OnOutage;
  /** Aborting withdraws the request, and throws the signal's reason. */
  signal?: AbortSignal;
  /** The session, where there is none around the call. */
  in?: Session;
  /** Told when the call waits for a person, in place of the client's own; `null` tells nobody. */
  onWaiting?: OnWaiting | null;
  /** Whether the caller waits for the report of the outcome; as the client does unless given. */
  report?: ReportMode;
}

/** The server's default deadline, used until the server has answered. */
const USUAL = 300_000;
/** How long to try to cancel the request of a caller that is gone. */
const FAREWELL = 2_000;

/** One call that waits for its decision. */
export class PendingCall {
  readonly #client: Placet;
  readonly #prepared: PreparedRequest;
  readonly #options: HoldOptions;
  readonly #onOutage: OnOutage;
  readonly #until: number | undefined;
  /** Kept in memory: the same claimant gets the same permit again when an answer is lost. */
  readonly #claimant = keys.claimant();
  /** The request, once it is known, and the permit that came with it. */
  #id: string | undefined;
  #permit: string | undefined;
  /** Aborted when the time to clean up after a caller that is gone is over. */
  readonly #given = new AbortController();

  constructor(client: Placet, prepared: PreparedRequest, options: HoldOptions) {
    this.#client = client;
    this.#prepared = prepared;
    this.#options = options;
    this.#onOutage = options.onOutage ?? client.onOutage;
    checkWord("onOutage", this.#onOutage, OUTAGES);
    checkWord("then", options.then, ["cancel", "leave"]);
    checkListener("onWaiting", options.onWaiting);
    checkWord("report", options.report, REPORTS);
    if (options.holdFor !== undefined) {
      this.#until = performance.now() + milliseconds(options.holdFor, "holdFor");
    }
  }

  async hold(): Promise<Held> {
    const { signal } = this.#options;
    const held = await this.#asked();
    if (!held.go || !signal?.aborted) return held;
    // The approval came in the moment in which the caller left.
    await held.failed("not run: the caller was gone");
    throw signal.reason;
  }

  async #asked(): Promise<Held> {
    const { signal } = this.#options;
    signal?.throwIfAborted();
    let asked: Promise<RequestRecord> | undefined;
    try {
      const { strong = keys.random(), weak } = await this.#prepared.keys();
      asked = this.#create(this.#prepared.body, strong, weak);
      const held = await this.#decided(await orAborted(asked, signal));
      if (held.status !== "unknown" || !this.#prepared.idempotent) return held;
      // Running it twice does no harm, but a person approves it again and sees what it repeats.
      const context = { ...this.#prepared.body.context, repeats: held.requestId as string };
      asked = this.#create({ ...this.#prepared.body, context }, keys.random());
      return await this.#decided(await orAborted(asked, signal));
    } catch (error) {
      if (signal?.aborted) {
        await this.#farewell(asked);
        throw signal.reason;
      }
      return this.#outage(error, undefined);
    }
  }

  #create(body: CreateBody, key: string, weakKey?: string): Promise<RequestRecord> {
    const lifetime = body.expires_in ? milliseconds(body.expires_in, "expiresIn") : USUAL;
    const budget = this.#patience(lifetime);
    const claiming = this.#prepared.claims ? { claim: true, claimant: this.#claimant } : {};
    return this.#client.create(body, { key, weakKey, budget, signal: this.#given.signal, ...claiming });
  }

  /** Milliseconds of outage to bear: the client's budget, or with `pause` as long as the request itself may live. */
  #patience(lifetime: number): number {
    const { outageBudget } = this.#client;
    if (this.#onOutage !== "pause") return outageBudget;
    const left = this.#until === undefined ? Number.POSITIVE_INFINITY : this.#until - performance.now();
    return Math.max(outageBudget, Math.min(lifetime, left));
  }

  async #decided(first: RequestRecord): Promise<Held> {
    let record = this.#seen(first);
    try {
      if (record.state === "pending") {
        const decided = await this.#wait(record);
        if (decided instanceof Held) return decided;
        record = decided;
      }
      return await this.#judged(record);
    } catch (error) {
      if (this.#options.signal?.aborted) throw error;
      return this.#outage(error, record);
    }
  }

  /** The answer to the create. Only its permit counts. */
  #seen(first: RequestRecord): RequestRecord {
    const { permit, ...record } = first;
    this.#permit = typeof permit === "string" && permit !== "" ? permit : undefined;
    this.#id = record.id;
    return record;
  }

  async #wait(record: RequestRecord): Promise<RequestRecord | Held> {
    const left = this.#until === undefined ? undefined : this.#until - performance.now();
    if (left !== undefined && left <= 0) {
      this.#client.notices.once(this.#options.onWaiting, this.#prepared.label, record);
      return this.#over(record);
    }
    const local = new AbortController();
    const over = Symbol("holdFor is over");
    const { signal } = this.#options;
    const stop = () => local.abort(signal?.reason);
    signal?.addEventListener("abort", stop, { once: true });
    const timer = left === undefined ? undefined : setTimeout(() => local.abort(over), left);
    // By the server's clock alone: ours may be wrong. It only bounds how long an outage is borne.
    const lifetime = Date.parse(record.expires_at) - Date.parse(record.created_at);
    const patient = this.#onOutage === "pause" ? this.#patience(lifetime) : undefined;
    try {
      if (signal?.aborted) throw signal.reason;
      const told = (why: Waiting["why"]) =>
        this.#client.notices.tell(this.#options.onWaiting, this.#prepared.label, record, why);
      told("person");
      return await this.#client.waiting.wait(record.id, { signal: local.signal, budget: patient, told });
    } catch (error) {
      if (error !== over) throw error;
      return await this.#over(record);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }

  /** The local wait is over before the decision. */
  async #over(record: RequestRecord): Promise<RequestRecord | Held> {
    const reason = `nobody decided within ${String(this.#options.holdFor)}${
      typeof this.#options.holdFor === "number" ? " ms" : ""
    }`;
    if (this.#options.then === "leave") return this.#held("pending", { record, reason });
    try {
      const cancelled = await this.#client.cancel(record.id, reason);
      return this.#held("cancelled", { record: cancelled, reason });
    } catch (error) {
      // Decided in the same moment: that decision stands.
      if (error instanceof Problem && error.record) return error.record;
      throw error;
    }
  }

  /** The meaning of a decided record. A record that is not understood lets nothing run. */
  async #judged(record: RequestRecord): Promise<Held> {
    answer.ofRequest(record, this.#id as string);
    switch (record.state) {
      case "approved":
      case "claimed":
        return this.#claim(record);
      case "denied":
        return this.#held("denied", { record, reason: denial(record) });
      case "answered":
        try {
          await answer.answered(this.#prepared.body, record);
        } catch (error) {
          if (!(error instanceof answer.AnswerMismatch)) throw error;
          return this.#held("denied", { record, reason: `the answer cannot be used: ${error.message}` });
        }
        return this.#held("answered", { record });
      case "expired":
      case "cancelled":
      case "revoked":
      case "lapsed":
        return this.#held(record.state, { record });
      case "succeeded":
      case "failed":
      case "unknown":
        return this.#held("unknown", { record, reason: `it is on record as ${record.state}` });
      default:
        return this.#held("denied", {
          record,
          reason: `the server said ${JSON.stringify(record.state)}, which this version does not know`,
        });
    }
  }

  async #claim(record: RequestRecord): Promise<Held> {
    const { body, checks, claims } = this.#prepared;
    const word: unknown = record.decision?.decision;
    if (word !== "approve" && word !== "edit") {
      const reason = `the decision is ${JSON.stringify(word ?? null)}, which this version does not know as a yes`;
      return this.#held("denied", { record, reason });
    }
    let permit = record.state === "claimed" ? this.#permit : undefined;
    try {
      if (!claims) {
        // Nothing to claim: for everything but an action, approved is final.
        await answer.agreed(body, record);
        return this.#held(record.state === "approved" ? "approved" : "unknown", { record });
      }
      const approved = await answer.approvedArguments(body, record);
      if (permit === undefined) {
        const claimed = await this.#take(record);
        if (claimed instanceof Held) return claimed;
        permit = claimed.permit;
        answer.permitted(record, approved, claimed);
      }
      const edited = word === "edit";
      for (const check of edited ? (checks ?? []) : []) {
        const problem = await misfit(check, approved);
        if (problem) throw new answer.AnswerMismatch(`the edited arguments do not fit: ${problem}`);
      }
      return this.#held("approved", { record, permit, arguments: approved, edited });
    } catch (error) {
      if (!(error instanceof answer.AnswerMismatch)) throw error;
      return this.#unfit(record, permit, error.message);
    }
  }

  /** Claims the permit, or says why another caller has it. */
  async #take(record: RequestRecord): Promise<Claimed | Held> {
    const decided = Date.parse(record.decision?.at ?? record.created_at);
    const budget = this.#patience(Math.max(0, Date.parse(record.claim_by ?? "") - decided) || 0);
    try {
      const { signal } = this.#options;
      return await this.#client.claim(record.id, this.#claimant, { budget, signal });
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 409) throw error;
      const now = error.record ?? record;
      if (error.code === "already_claimed" || now.state === "approved" || now.state === "claimed") {
        return this.#held("unknown", { record: now, reason: "another process holds its permit" });
      }
      return this.#judged(now);
    }
  }

  /** Reports a call that was claimed and not run, so that its outcome is known. */
  async #unfit(record: RequestRecord, permit: string | undefined, reason: string): Promise<Held> {
    if (permit !== undefined) {
      await this.#client
        .report(record.id, { permit, status: "failed", note: `not run: ${reason}`.slice(0, 2_000) })
        .catch(() => undefined);
    }
    return this.#held("failed", { record, reason });
  }

  /** An outage, as the caller wants it; every other error is one. */
  #outage(error: unknown, record: RequestRecord | undefined): Held {
    const away = error instanceof Unreachable || (error instanceof ProtocolError && error.outage);
    if (!away || this.#onOutage === "raise") throw error;
    return this.#held("unreachable", { record, reason: (error as Error).message });
  }

  /** Cancels the request of a caller that is gone, as far as possible in a short time. */
  async #farewell(asked: Promise<RequestRecord> | undefined): Promise<void> {
    if (!asked) return;
    const { signal } = this.#given;
    const leave = async () => {
      const { id, permit } = await asked;
      if (permit) return this.#gone(id, permit);
      try {
        await this.#client.cancel(id, "caller_gone", { signal });
      } catch (error) {
        if (!(error instanceof Problem) || error.record?.state !== "claimed") throw error;
        // The claim was on its way when the caller left. The same claimant gets the same permit.
        await this.#gone(id, (await this.#client.claim(id, this.#claimant, { signal })).permit);
      }
    };
    const timer = setTimeout(() => this.#given.abort(), FAREWELL);
    await leave().catch(() => undefined);
    clearTimeout(timer);
  }

  async #gone(id: string, permit: string): Promise<void> {
    const outcome = { permit, status: "failed", note: "not run: the caller was gone" } as const;
    await this.#client.report(id, outcome, { signal: this.#given.signal });
  }

  #held(status: Status, parts: Omit<HeldParts, "status" | "tool">): Held {
    const { report } = this.#options;
    return new Held(this.#client, { status, tool: this.#prepared.label, report, ...parts });
  }
}

/** Why it was denied, in the words of the person or of policy. */
function denial(record: RequestRecord): string | undefined {
  if (record.decision?.reason) return record.decision.reason;
  if (record.verdict?.effect !== "deny") return undefined;
  return `policy: ${record.verdict.reasons.join("; ") || record.verdict.rule}`;
}
