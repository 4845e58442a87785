/** Complete requests for unit tests, with plain defaults. */
import type { RequestRecord, Row } from "./extra";

export function row(id: string, more: Partial<Row> = {}): Row {
  const effect = more.effect ?? "Delete 1 file: a.md";
  return {
    id,
    version: 1,
    kind: "action",
    state: "pending",
    agent: "bot",
    session: "s1",
    tool: "delete_files",
    risk: "low",
    view: { sentence: effect, hidden: 4 },
    effect,
    group: null,
    same: null,
    shape: null,
    digest: "sha256:0",
    votes: { have: 0, need: 1 },
    needs_step_up: false,
    warnings: 0,
    created_at: "2026-11-15T10:00:00Z",
    expires_at: "2026-11-15T11:00:00Z",
    decided_at: null,
    decided_by: [],
    decision: null,
    lineage: [],
    ...more,
  };
}

export function record(more: Partial<RequestRecord> = {}): RequestRecord {
  return {
    id: "req_1",
    version: 1,
    kind: "action",
    state: "pending",
    agent: "bot",
    session: "s",
    tool: "delete_files",
    arguments: { files: ["a"] },
    arguments_schema: null,
    context: { lineage: ["planner"] },
    summary: "trust me",
    on_behalf_of: null,
    group: null,
    nonce: null,
    digest: "d",
    risk: "high",
    allowed: ["approve", "deny"],
    claimable: true,
    verdict: { effect: "hold", rule: "r", policy: "p", reasons: [] },
    needs: { any: [{ all: [{ people: 2, team: null }] }], four_eyes: false, step_up: "code" },
    votes: [{ by: "ann", vote: "approve", digest: "d", at: "", auth: "token" }],
    proposal: null,
    asked: [],
    decision: null,
    created_at: "2026-11-15T10:00:00Z",
    expires_at: "2026-11-15T11:00:00Z",
    claim_by: null,
    report_by: null,
    claim: null,
    outcome: null,
    url: "/r/req_1",
    ...more,
  };
}

/** What the server says of a door. */
export function door(source: string | null): Pick<Row, "source" | "origin"> {
  const nothing = { desk: false, turn: false, paths: false };
  const behind = /^a2a\/(.*)/.exec(source ?? "");
  if (behind) return { source, origin: { ...nothing, agent: behind[1] } };
  if (source === "a2a") return { source, origin: { ...nothing, desk: true } };
  const hooks = source === "hook" || source === "hook-program";
  return { source, origin: hooks ? { ...nothing, turn: true, paths: source === "hook-program" } : null };
}
