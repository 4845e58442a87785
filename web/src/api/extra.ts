/**
 * The shapes of the API document under the names that the page has for them. Written by hand is only what the document leaves open:
 * what is any JSON there, and what may come from an older server.
 */
import type { components } from "../../../sdk/typescript/src/api";
import type { CardLine, CardView } from "./card";

type Schemas = components["schemas"];

export type Kind = Schemas["Kind"];
export type Risk = Schemas["Risk"];
export type Role = Schemas["Role"];
export type Word = Schemas["DecisionWord"];
export type State = Schemas["State"];

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export type DisplayField = Schemas["DisplayField"];
export type Warning = Omit<Schemas["Warning"], "code"> & { code: string };
export type ShellCommand = Schemas["ShellCommand"];

/** The server's drawing of a request. A field that an older server left out counts as not shown. */
export type Display = Pick<Schemas["Display"], "digest" | "fields"> &
  Partial<Omit<Schemas["Display"], "warnings">> & { warnings?: Warning[] };

export type Seat = Schemas["Seat"];
export type Needs = Schemas["Needs"];
export type Vote = Omit<Schemas["VoteRecord"], "auth"> & { auth: string };
export type StepDecision = Omit<Schemas["StepDecision"], "arguments"> & { arguments?: JsonObject | null };
/** What a reviewer puts in place of the original content, or answers. */
interface ReplacementFields {
  arguments: JsonObject | null;
  answer: Json;
  steps: StepDecision[] | null;
}
export type Proposal = Omit<Schemas["ProposalRecord"], "arguments" | "answer" | "steps"> & ReplacementFields;
export type GrantUsed = Schemas["GrantUsed"];
export type DecisionRecord = Omit<Schemas["DecisionRecord"], "arguments" | "answer" | "steps" | "claimed"> &
  ReplacementFields;
export type Step = Omit<Schemas["Step"], "arguments"> & { arguments?: JsonObject | null };

/** What the server declares of the door of a request. */
export type Origin = Schemas["Origin"];
/** A whole request. */
export type RequestRecord = Omit<Schemas["Record"], keyof RecordFields> & RecordFields;
interface RecordFields {
  arguments: JsonObject | null;
  arguments_schema: JsonObject | boolean | null;
  steps?: Step[] | null;
  default?: Json;
  context: JsonObject | null;
  votes: Vote[];
  proposal: Proposal | null;
  decision: DecisionRecord | null;
  display?: Display | null;
  /** Whole where one request is read, and one line of it in lists. */
  view?: CardView | CardLine | null;
}

export type Row = Omit<Schemas["Row"], "view"> & { view?: CardLine | null };
export type RowPage = Omit<Schemas["RowPage"], "items"> & { items: Row[] };

export interface Remember {
  scope: "exact" | "pattern" | "session" | "template";
  arguments?: { [path: string]: Json };
  expires_in?: string;
  uses?: number;
  /** template: where it counts */
  within?: "session" | "project";
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
  /** The digest of the card that was on the screen. */
  view?: string;
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
  /** template: what it would have let pass among the newest calls */
  would: { looked_at: number; covered: number; denied: number; examples: string[] } | null;
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

/** Who waits for the answer to a pending request. */
export type Waiting = Schemas["Waiting"];
export type RequestHistory = Schemas["HistoryRecord"];

/** The person who is signed in. `session` is null for a page without sessions. */
export type Session = Omit<Schemas["SessionRecord"], "session"> & {
  session: Schemas["CurrentSession"] | null;
};
export type SessionItem = Schemas["SessionItem"];
export type Ticket = Schemas["TicketRecord"];
export type SignInLink = Schemas["LinkRecord"];

export type LedgerStatus = Schemas["LedgerStatus"];
export type VerifyLine =
  | { checked: number; total: number }
  | { done: true; ok: boolean; entries: number; head: string; problem: string | null; at: string };

export type DecisionCounts = Schemas["StatsRecord"]["decisions"]["by_kind"][number];
export type Stats = Schemas["StatsRecord"];

export interface PolicyNote {
  line?: number | null;
  column?: number | null;
  rule?: string | null;
  message: string;
  fix?: string | null;
  severity?: string;
}
