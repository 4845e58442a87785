/**
 * Wire shapes that the page reads, named by hand: the words on the wire, and the parts of the answers that the
 * generated document leaves open.
 */
import type { components } from "../../../sdk/typescript/src/api";

type Schemas = components["schemas"];

export type Kind = "action" | "plan" | "input" | "confirmation";
export type Risk = "low" | "medium" | "high" | "critical";
export type Role = "agent" | "reviewer" | "admin" | "auditor";
export type Word = "approve" | "edit" | "deny" | "respond";
export type State =
  | "pending"
  | "approved"
  | "denied"
  | "answered"
  | "expired"
  | "cancelled"
  | "claimed"
  | "lapsed"
  | "revoked"
  | "succeeded"
  | "failed"
  | "unknown";
export type InputType = "text" | "number" | "choice" | "multi_choice" | "date" | "file";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface DisplayField {
  pointer: string;
  text: string;
  /** Parts of the pointer that are keys although they read like places in a list. */
  keys?: number[];
}
export interface Warning {
  code: string;
  pointer: string;
  text: string;
}
export interface ShellCommand {
  words: string[];
  redirects: { op: string; target: string }[];
  joined: null | string;
}
export type Preview =
  | {
      type: "shell";
      command: string;
      opaque: boolean;
      why?: string | null;
      commands: ShellCommand[];
      cwd?: string | null;
      claimed_cwd?: string | null;
    }
  | { type: "sql"; statement: string; kind: string; tables: string[]; where: boolean; statements: number }
  | {
      type: "diff";
      path: string;
      lines: { op: string; text: string }[];
      truncated: boolean;
    }
  | {
      type: "http";
      method: string;
      url: string;
      host: string;
      headers: string[][];
      body?: string | null;
    }
  | { type: "email"; to: string[]; cc: string[]; bcc: string[]; subject: string; body: string }
  | {
      type: "money";
      amount: string;
      currency: string;
      to: string;
      accounts?: string[][];
      reference?: string | null;
    }
  | {
      type: "plan";
      steps: { id: string; action: string; description: string; effect: string; optional: boolean }[];
    }
  | { type: "question"; question: string }
  | { type: "confirmation"; message: string; details?: string | null }
  | { type: "json" };

export interface Display {
  digest: string;
  code?: string | null;
  fields: DisplayField[];
  effect?: string;
  preview?: Preview;
  /** Pointers of the fields that the preview shows whole. */
  shown?: string[];
  warnings?: Warning[];
}

export interface Seat {
  people: number;
  team: string | null;
}
export interface Needs {
  any: { all: Seat[] }[];
  four_eyes: boolean;
  step_up: string | null;
}
export interface Vote {
  by: string;
  vote: Word;
  digest: string;
  at: string;
  auth: string;
}
export interface StepDecision {
  id: string;
  decision: Word;
  arguments?: JsonObject | null;
}
export interface Proposal {
  by: string;
  decision: Word;
  digest: string;
  at: string;
  arguments: JsonObject | null;
  answer: Json;
  steps: StepDecision[] | null;
}
/** The standing approval that let a call pass. */
export interface GrantUsed {
  id: string;
  by?: string | null;
}
export interface DecisionRecord {
  decision: Word;
  by: string[];
  grant?: GrantUsed | null;
  reason: string | null;
  arguments: JsonObject | null;
  digest: string;
  answer: Json;
  steps: StepDecision[] | null;
  at: string;
}
export interface Step {
  id: string;
  action: string;
  description: string;
  arguments?: JsonObject | null;
  optional?: boolean | null;
}
export interface InputSpec {
  type: InputType;
  min?: number | null;
  max?: number | null;
  options?: string[] | null;
}

/** A request, whole. */
export interface RequestRecord {
  id: string;
  version: number;
  kind: Kind;
  state: State;
  agent: string;
  session: string;
  /** The door it came in by, where that is not REST: `a2a` (the desk), `a2a/NAMESPACE/AGENT` (behind the proxy). */
  source?: string | null;
  tool: string | null;
  arguments: JsonObject | null;
  arguments_schema: JsonObject | boolean | null;
  title?: string | null;
  steps?: Step[] | null;
  can_modify?: boolean | null;
  estimated_duration?: string | null;
  question?: string | null;
  input?: InputSpec | null;
  required?: boolean | null;
  default?: Json;
  message?: string | null;
  details?: string | null;
  confirm_label?: string | null;
  cancel_label?: string | null;
  context: JsonObject | null;
  summary: string | null;
  on_behalf_of: string | null;
  group: string | null;
  nonce: string | null;
  digest: string;
  risk: Risk;
  allowed: Word[];
  claimable: boolean;
  verdict: { effect: "allow" | "hold" | "deny"; rule: string; policy: string; reasons: string[] };
  needs: Needs;
  votes: Vote[];
  proposal: Proposal | null;
  asked: string[];
  decision: DecisionRecord | null;
  created_at: string;
  expires_at: string;
  claim_by: string | null;
  report_by: string | null;
  claim: { by: string; at: string } | null;
  outcome: {
    status: "succeeded" | "failed";
    result_digest: string | null;
    note: string | null;
    at: string;
    resolved_by: string | null;
  } | null;
  url: string;
  same?: string | null;
  display?: Display | null;
}

/** A request as a row of a list (`view=row`). */
export interface Row {
  id: string;
  version: number;
  kind: Kind;
  state: State;
  agent: string;
  session: string;
  /** As on the record. */
  source?: string | null;
  tool: string | null;
  risk: Risk;
  effect: string;
  group: string | null;
  same: string | null;
  /** Equal on calls of one tool with arguments of the same names and types. */
  shape: string | null;
  digest: string;
  votes: { have: number; need: number };
  needs_step_up: boolean;
  warnings: number;
  created_at: string;
  expires_at: string;
  decided_at: string | null;
  decided_by: string[];
  grant?: GrantUsed | null;
  decision: Word | null;
  lineage: string[];
}
export interface RowPage {
  items: Row[];
  next_cursor?: string | null;
  seq: number;
  event_id: string;
}

export interface Remember {
  scope: "exact" | "pattern" | "session";
  arguments?: { [path: string]: Json };
  expires_in?: string;
  uses?: number;
}
export interface Decide {
  decision: Word;
  digest: string;
  version: number;
  reason?: string;
  arguments?: JsonObject;
  answer?: Json;
  steps?: StepDecision[];
  remember?: Remember;
  step_up?: { code: string };
  display?: string;
}
/** What a decision would do (`dry_run=true`). */
export interface DryRun {
  record: RequestRecord;
  decides: boolean;
  ruling: {
    verdict: RequestRecord["verdict"];
    risk: Risk;
    needs: Needs;
  } | null;
  stricter: boolean;
  voided: string[];
  grant: Json;
  covers: string | null;
}
export interface BatchResults {
  results: {
    id: string;
    status: number;
    code?: string | null;
    problem?: Problem | null;
    record?: RequestRecord | null;
  }[];
  applied: boolean;
}
export interface Problem {
  type?: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  pointer?: string | null;
  record?: RequestRecord | null;
  problems?: PolicyNote[] | null;
}

export interface TimelineEntry {
  seq: number;
  at: string;
  by: string;
  role: string;
  type: string;
  text: string;
}
export interface Similar {
  id: string;
  at: string;
  agent: string;
  decision: Word | null;
  by: string[];
  state: State;
  exact: boolean;
}
export interface RequestHistory {
  entries: TimelineEntry[];
  similar: Similar[];
}

export interface Session {
  name: string;
  roles: Role[];
  teams: string[];
  session: {
    id: string;
    created_at: string;
    last_seen_at: string;
    expires_at: string;
    idle_until: string;
    via: "link" | "password";
  } | null;
  csrf: string;
  nonce: string;
  has_password: boolean;
  server: { version: string; dev: boolean; database: string };
}
export interface SessionItem {
  id: string;
  created_at: string;
  last_seen_at: string;
  expires_at: string;
  via: string;
  current: boolean;
  user_agent: string;
}
export interface Ticket {
  ticket: string;
  expires_at: string;
}
export interface SignInLink {
  url: string | null;
  expires_at: string;
}

export interface LedgerStatus {
  head: string;
  entries: number;
  verified: null | { ok: boolean; entries: number; at: string; problem: string | null };
}
export type VerifyLine =
  | { checked: number; total: number }
  | { done: true; ok: boolean; entries: number; head: string; problem: string | null; at: string };

export interface Quantiles {
  count: number;
  p50: number;
  p90: number;
}
export interface DecisionCounts {
  name: string;
  approve: number;
  edit: number;
  deny: number;
  respond: number;
  expired: number;
  cancelled: number;
}
export interface Stats {
  from: string;
  to: string;
  now: { pending: number; oldest_age_seconds: number | null; by_risk: { [risk in Risk]: number } };
  depth: { at: string; pending: number; oldest_age_seconds: number | null }[];
  time_to_decision: {
    overall: Quantiles;
    by_tool: (Quantiles & { name: string })[];
    by_agent: (Quantiles & { name: string })[];
    by_reviewer: (Quantiles & { name: string })[];
  };
  decisions: { by_kind: DecisionCounts[]; by_tool: DecisionCounts[] };
  decided_by: { policy: number; grant: number; person: number; expiry: number; cancelled: number };
  heat: number[][];
  reviewers: { name: string; decisions: number; denied: number; median_seconds: number | null }[];
}

export interface PolicyNote {
  line?: number | null;
  column?: number | null;
  rule?: string | null;
  message: string;
  fix?: string | null;
  severity?: string;
}
export type GrantRecord = Schemas["GrantRecord"];
export type PolicyRecord = Schemas["PolicyRecord"];
