/** The life of requests in memory: the same states, refusals and digests as the server's, without policy and people. */
import { requestDigest, sha256 } from "../digest.js";
import { milliseconds } from "../duration.js";
import { canonical } from "../json.js";
import * as keys from "../keys.js";
import { schemaProblem } from "../schema.js";
import type {
  CreateBody,
  DecisionWord,
  Json,
  JsonObject,
  RequestRecord,
  State,
  StepDecision,
} from "../wire.js";

/** A refusal, as the wire says it. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly record?: RequestRecord,
  ) {
    super(detail);
  }
}

/** A decision about one request. */
export interface Word {
  decision: DecisionWord;
  reason?: string;
  arguments?: JsonObject;
  answer?: Json;
  steps?: StepDecision[];
}

interface Entry {
  record: RequestRecord;
  body: string;
  keys: Set<string>;
  weak: string | undefined;
  permit: string;
  claimant: string | undefined;
}

const CLAIM = 15 * 60_000;
const REPORT = 60 * 60_000;

export class RequestStates {
  #entries = new Map<string, Entry>();
  /** Called after every change, with what happened. */
  changed: (type: string, record: RequestRecord) => void = () => {};

  get records(): RequestRecord[] {
    return [...this.#entries.values()].map((entry) => copy(this.#now(entry).record));
  }

  record(id: string, agent?: string): RequestRecord {
    return copy(this.#now(this.#find(id, agent)).record);
  }

  async create(
    agent: string,
    body: CreateBody,
    key: string,
    weak: string | undefined,
    judge: (record: RequestRecord) => Word | undefined,
  ): Promise<{ record: RequestRecord; fresh: boolean }> {
    const text = canonical(body);
    const mine = [...this.#entries.values()].filter((entry) => this.#now(entry).record.agent === agent);
    const same = mine.find((entry) => entry.keys.has(key));
    if (same) {
      if (same.body !== text) {
        throw new Refusal(409, "idempotency_key_reused", "the key was used with another body");
      }
      return { record: copy(same.record), fresh: false };
    }
    const again = weak === undefined ? undefined : mine.find((entry) => attaches(entry, weak, body));
    if (again) {
      again.keys.add(key);
      // The new key belongs to the new body, so that a repeated create finds its own request.
      again.body = text;
      return { record: copy(again.record), fresh: false };
    }
    const entry: Entry = {
      record: fresh(agent, body),
      body: text,
      keys: new Set([key]),
      weak,
      permit: `prm_${keys.claimant()}`,
      claimant: undefined,
    };
    // Taken before anything is awaited, so that twins find it.
    this.#entries.set(entry.record.id, entry);
    entry.record.digest = await requestDigest(entry.record);
    this.changed("request.created", copy(entry.record));
    const word = judge(copy(entry.record));
    if (word) await this.#decide(entry, [], word);
    return { record: copy(entry.record), fresh: true };
  }

  async decide(
    id: string,
    by: string,
    word: Word,
    seen?: { digest: string; version: number },
  ): Promise<RequestRecord> {
    const entry = this.#now(this.#find(id));
    const { record } = entry;
    if (record.state !== "pending") {
      const code =
        record.state === "expired" || record.state === "cancelled" ? record.state : "already_decided";
      throw new Refusal(409, code, `the request is ${record.state}`, copy(record));
    }
    if (seen && seen.digest !== record.digest) {
      throw new Refusal(409, "stale_digest", "what you saw is not what stands there now", copy(record));
    }
    await this.#decide(entry, [by], word);
    return copy(record);
  }

  async #decide(entry: Entry, by: string[], word: Word): Promise<void> {
    const { record } = entry;
    const { decision, reason = null, answer = null, steps = null } = word;
    if (decision !== "deny" && !record.allowed.includes(decision)) {
      throw new Refusal(422, "invalid", `${decision} is not offered for this request`);
    }
    const edited = decision === "edit" ? word.arguments : undefined;
    if (decision === "edit" && !edited) throw new Refusal(422, "invalid", "an edit needs whole arguments");
    const problem = edited && schemaProblem(record.arguments_schema ?? undefined, edited);
    if (problem) throw new Refusal(422, "invalid", problem);
    let digest = edited ? await requestDigest(record, edited) : record.digest;
    const proposed = decision === "respond" ? { answer } : steps ? { steps } : undefined;
    if (proposed)
      digest = `sha256:${await sha256(`placet/proposal/v1\n${record.digest}\n${canonical(proposed)}`)}`;
    const at = time();
    record.decision = { decision, by, reason, arguments: edited ?? null, digest, answer, steps, at } as never;
    if (decision === "respond") this.#move(entry, "answered", "decided");
    else if (decision === "deny") this.#move(entry, "denied", "decided");
    else {
      if (record.claimable) record.claim_by = time(CLAIM);
      this.#move(entry, "approved", "decided");
    }
  }

  claim(id: string, agent: string, claimant: string) {
    const entry = this.#now(this.#find(id, agent));
    const { record } = entry;
    const same = record.state === "claimed" && entry.claimant !== undefined && entry.claimant === claimant;
    if (record.state === "claimed" && !same)
      throw this.#conflict(entry, "already_claimed", "the permit is already claimed");
    if (record.state === "lapsed")
      throw this.#conflict(entry, "lapsed", "the approval was not claimed in time");
    if (!same && (record.state !== "approved" || !record.claimable)) {
      throw this.#conflict(entry, "not_approved", `there is no permit: the request is ${record.state}`);
    }
    if (!same) {
      entry.claimant = claimant;
      record.claim = { by: agent, at: time() };
      record.report_by = time(REPORT);
      this.#move(entry, "claimed", "claimed");
    }
    return {
      permit: entry.permit,
      arguments: copy((record.decision?.arguments ?? record.arguments) as JsonObject),
      digest: record.decision?.digest ?? record.digest,
      report_by: record.report_by,
    };
  }

  report(
    id: string,
    agent: string,
    permit: string,
    status: string,
    digest?: string,
    note?: string,
  ): RequestRecord {
    const entry = this.#now(this.#find(id, agent));
    const { record } = entry;
    if (record.state === "succeeded" || record.state === "failed") {
      if (record.state === status) return copy(record);
      throw this.#conflict(entry, "already_reported", `it is on record as ${record.state}`);
    }
    if (record.state !== "claimed" && record.state !== "unknown") {
      throw this.#conflict(entry, "not_claimed", "nothing was claimed");
    }
    if (permit !== entry.permit)
      throw new Refusal(403, "wrong_permit", "that is not the permit of this request");
    if (status !== "succeeded" && status !== "failed")
      throw new Refusal(422, "invalid", "status: succeeded or failed");
    record.outcome = { status, result_digest: digest ?? null, note: note ?? null, at: time() } as never;
    this.#move(entry, status, "reported");
    return copy(record);
  }

  cancel(id: string, agent: string): RequestRecord {
    const entry = this.#now(this.#find(id, agent));
    const { state } = entry.record;
    if (state !== "pending" && state !== "approved") {
      const code = state === "claimed" ? "already_claimed" : "already_decided";
      throw this.#conflict(entry, code, `the request is ${state}`);
    }
    this.#move(entry, "cancelled", "cancelled");
    return copy(entry.record);
  }

  /** Changes that only time or a reviewer makes. */
  end(id: string, state: "expired" | "lapsed" | "revoked" | "unknown"): RequestRecord {
    const entry = this.#find(id);
    this.#move(entry, state, state);
    return copy(entry.record);
  }

  #move(entry: Entry, state: State, event: string): void {
    entry.record.state = state;
    entry.record.version += 1;
    this.changed(`request.${event}`, copy(entry.record));
  }

  /** Deadlines are checked on every read, as on the server. */
  #now(entry: Entry): Entry {
    const { record } = entry;
    const past = (text: string | null | undefined) => text != null && Date.parse(text) <= Date.now();
    if (record.state === "pending" && past(record.expires_at)) this.#move(entry, "expired", "expired");
    if (record.state === "approved" && past(record.claim_by)) this.#move(entry, "lapsed", "lapsed");
    if (record.state === "claimed" && past(record.report_by)) this.#move(entry, "unknown", "unknown");
    return entry;
  }

  #find(id: string, agent?: string): Entry {
    const entry = this.#entries.get(id);
    if (!entry || (agent !== undefined && entry.record.agent !== agent)) {
      throw new Refusal(404, "not_found", "there is nothing here for you");
    }
    return entry;
  }

  #conflict(entry: Entry, code: string, detail: string): Refusal {
    return new Refusal(409, code, detail, copy(entry.record));
  }
}

/** A weak key finds the same call again until its permit is claimed. */
function attaches(entry: Entry, weak: string, body: CreateBody): boolean {
  const { record } = entry;
  return (
    entry.weak === weak &&
    (record.state === "pending" || record.state === "approved") &&
    record.kind === body.kind &&
    record.session === body.session &&
    (record.tool ?? null) === (body.tool ?? null) &&
    (record.on_behalf_of ?? null) === (body.on_behalf_of ?? null) &&
    canonical(record.arguments ?? null) === canonical(body.arguments ?? null) &&
    canonical(whose(record.context)) === canonical(whose(body.context))
  );
}

/** The parts of a context that name the owner of a call, as the server compares them. */
function whose(context: unknown): JsonObject {
  const fields = ["user", "tenant", "app", "cwd", "lineage", "turn"];
  const all = Object.entries((context ?? {}) as JsonObject);
  return Object.fromEntries(all.filter(([name]) => fields.includes(name)));
}

const USUAL: { readonly [kind: string]: DecisionWord[] } = {
  action: ["approve", "edit", "deny"],
  plan: ["approve", "edit", "deny"],
  input: ["respond", "deny"],
  confirmation: ["approve", "deny"],
};

function fresh(agent: string, body: CreateBody): RequestRecord {
  const { expires_in, permit, allowed, risk, ...own } = body;
  const id = `req_${keys.claimant().slice(0, 26)}`;
  const lifetime = expires_in == null ? 5 * 60_000 : milliseconds(expires_in, "expires_in");
  const defaults = body.kind === "confirmation" ? { confirm_label: "Confirm", cancel_label: "Cancel" } : {};
  const required = body.kind === "input" ? { required: true } : {};
  const modify = body.kind === "plan" ? { can_modify: false } : {};
  const blank = {
    tool: null,
    arguments: null,
    arguments_schema: null,
    summary: null,
    on_behalf_of: null,
    group: null,
  };
  return {
    ...blank,
    ...defaults,
    ...required,
    ...modify,
    ...copy(own),
    id,
    version: 1,
    state: "pending",
    agent,
    context: body.context ?? {},
    nonce: keys.claimant().slice(0, 32),
    digest: "",
    risk: risk ?? "medium",
    allowed: allowed ?? USUAL[body.kind] ?? ["deny"],
    claimable: body.kind === "action" && permit !== false,
    verdict: { effect: "hold", rule: "testing", policy: "sha256:0", reasons: ["everything waits in a test"] },
    needs: { any: [{ all: [{ people: 1, team: null }] }], four_eyes: false, step_up: null },
    votes: [],
    proposal: null,
    asked: [],
    decision: null,
    created_at: time(),
    expires_at: time(lifetime),
    claim_by: null,
    report_by: null,
    claim: null,
    outcome: null,
    url: `/r/${id}`,
  } as unknown as RequestRecord;
}

function time(ahead = 0): string {
  return new Date(Date.now() + ahead).toISOString();
}

function copy<T>(value: T): T {
  return structuredClone(value);
}
