/** Placet for agents: ask, wait, claim, run, report. Nothing here turns an error into a yes. */
export type { Call } from "./call.js";
export type { EditCheck } from "./check.js";
export {
  type CreateOptions,
  defaultClient,
  type OnOutage,
  Placet,
  type PlacetOptions,
  type RunOptions,
} from "./client.js";
export { Coverage, coverage, type GatedTool, type UngatedKind, type UngatedTool } from "./coverage.js";
export { decisionDigest, digest, requestDigest, sha256 } from "./digest.js";
export type { Duration } from "./duration.js";
export * from "./errors.js";
export { type GateOptions, gate } from "./gate.js";
export { Held, type Refusal, type Status } from "./held.js";
export type { HoldOptions } from "./hold.js";
export { canonical, checkArguments, checkJson } from "./json.js";
export * as keys from "./keys.js";
export type { OnWaiting, Waiting } from "./notice.js";
export type { Asked, Confirmation, Plan, Question } from "./questions.js";
export type { ReportMode } from "./reports.js";
export { currentSession, Session, type SessionParts, session } from "./session.js";
export { readJson } from "./strict.js";
export type {
  Claimed,
  CreateBody,
  Decision,
  DecisionWord,
  InputSpec,
  Json,
  JsonObject,
  RequestRecord,
  Risk,
  State,
  Step,
  StepDecision,
  StreamEvent,
} from "./wire.js";
