/** The names of all options of the core, which the compiler compares with their types. */
import type { Call } from "./call.js";
import type { CreateOptions, PlacetOptions, RunOptions } from "./client.js";
import type { GateOptions } from "./gate.js";
import type { HoldOptions } from "./hold.js";
import type { Keys } from "./keys.js";
import type { Names } from "./options.js";
import type { Asked, Confirmation, Plan, Question } from "./questions.js";

export const PLACET = {
  ...{ url: true, token: true, timeout: true, outageBudget: true, onOutage: true, name: true, fetch: true },
  ...{ onUnreported: true, onWaiting: true, report: true },
} as const satisfies Names<PlacetOptions>;

export const KEYS = { strong: true, weak: true } as const satisfies Names<Keys>;

export const CREATE = {
  ...{ key: true, weakKey: true, wait: true, claim: true, claimant: true, signal: true, budget: true },
} as const satisfies Names<CreateOptions>;

export const HOLD = {
  ...{ holdFor: true, then: true, onOutage: true, signal: true, in: true, onWaiting: true, report: true },
} as const satisfies Names<HoldOptions>;

export const RUN = { ...HOLD, onDenied: true } as const satisfies Names<RunOptions>;

/** What calls and questions can say. */
const SAID = {
  ...{ session: true, keys: true, summary: true, risk: true, context: true },
  ...{ expiresIn: true, onBehalfOf: true, group: true },
} as const satisfies Names<Question>;

export const CALL = {
  ...SAID,
  ...{ tool: true, arguments: true, allowed: true, argumentsSchema: true, check: true, idempotent: true },
} as const satisfies Names<Call>;

export const CONFIRM = {
  ...SAID,
  ...{ details: true, confirmLabel: true, cancelLabel: true },
  ...HOLD,
} as const satisfies Names<Confirmation & HoldOptions>;

export const ASK = {
  ...SAID,
  ...{ type: true, options: true, min: true, max: true, required: true, default: true },
  ...HOLD,
} as const satisfies Names<Asked & HoldOptions>;

export const PLAN = {
  ...SAID,
  ...{ canModify: true, estimatedDuration: true },
  ...HOLD,
} as const satisfies Names<Plan & HoldOptions>;

export const GATE = {
  ...{ tool: true, params: true, summary: true, describe: true, client: true, in: true, holdFor: true },
  ...{ onOutage: true, onDenied: true, signal: true, risk: true, context: true, allowed: true },
  ...{ expiresIn: true, onBehalfOf: true, group: true, argumentsSchema: true, check: true, idempotent: true },
  ...{ onWaiting: true, report: true },
} as const satisfies Names<GateOptions<unknown[]>>;
