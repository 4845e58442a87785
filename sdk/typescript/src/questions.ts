/** What an agent can ask besides running a tool: yes or no, a question, a plan. */
import type { PreparedRequest } from "./call.js";
import type { Placet } from "./client.js";
import { type Duration, milliseconds, written } from "./duration.js";
import { checkJson, copied } from "./json.js";
import * as keys from "./keys.js";
import { KEYS } from "./names.js";
import { checkOptions, checkRequestWords } from "./options.js";
import type { Session } from "./session.js";
import type { CreateBody, InputSpec, Json, JsonObject, Risk, Step } from "./wire.js";

/** What every question can say. */
export interface Question {
  session?: string;
  keys?: keys.Keys;
  summary?: string;
  risk?: Risk;
  context?: JsonObject;
  expiresIn?: Duration;
  onBehalfOf?: string;
  group?: string;
}

export interface Confirmation extends Question {
  details?: string;
  confirmLabel?: string;
  cancelLabel?: string;
}

export interface Asked extends Question {
  /** The type of the answer; text unless given. */
  type?: InputSpec["type"];
  options?: string[];
  min?: number;
  max?: number;
  /** Whether an empty answer is refused; yes unless said otherwise. */
  required?: boolean;
  /** A suggestion for the person. It never answers by itself. */
  default?: Json;
}

export interface Plan extends Question {
  /** Whether reviewers may edit and reorder the steps. */
  canModify?: boolean;
  estimatedDuration?: string;
}

export function confirmation(
  client: Placet,
  around: Session | undefined,
  message: string,
  more: Confirmation,
): PreparedRequest {
  const own = {
    message,
    details: more.details,
    confirm_label: more.confirmLabel,
    cancel_label: more.cancelLabel,
  };
  return question(client, around, more, { kind: "confirmation", ...own });
}

export function input(
  client: Placet,
  around: Session | undefined,
  text: string,
  more: Asked,
): PreparedRequest {
  const { type = "text", options, min, max, required, default: suggestion } = more;
  const own = { question: text, input: { type, options, min, max }, required, default: suggestion };
  return question(client, around, more, { kind: "input", ...own });
}

export function plan(
  client: Placet,
  around: Session | undefined,
  title: string,
  steps: readonly Step[],
  more: Plan,
): PreparedRequest {
  const own = {
    title,
    steps: [...steps],
    can_modify: more.canModify,
    estimated_duration: more.estimatedDuration,
  };
  return question(client, around, more, { kind: "plan", ...own });
}

function question(
  client: Placet,
  around: Session | undefined,
  asked: Question,
  own: Omit<CreateBody, "session">,
): PreparedRequest {
  if (asked.keys !== undefined) checkOptions("keys", asked.keys, KEYS);
  checkRequestWords({ risk: asked.risk });
  const context = { ...around?.context(), ...asked.context };
  const body = given({
    ...own,
    session: asked.session ?? around?.id ?? client.anonymous,
    summary: asked.summary,
    risk: asked.risk,
    context: Object.keys(context).length === 0 ? undefined : context,
    expires_in:
      asked.expiresIn === undefined ? undefined : written(milliseconds(asked.expiresIn, "expiresIn")),
    on_behalf_of: asked.onBehalfOf,
    group: asked.group,
  });
  checkJson(body);
  return {
    label: own.kind,
    body: copied(body) as unknown as CreateBody,
    keys: () => asked.keys ?? { strong: keys.random() },
    claims: false,
  };
}

/** Removes undefined fields, one level deep, so that only given options are sent. */
function given(value: object): unknown {
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(
    entries.map(([name, each]) => [name, name === "input" ? given(each as object) : each]),
  );
}
