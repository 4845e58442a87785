/** A call before it is asked for: the tool, its arguments, and what a person should know. */
import type { EditCheck } from "./check.js";
import type { Placet } from "./client.js";
import { type Duration, milliseconds, written } from "./duration.js";
import { ConfigError } from "./errors.js";
import { checkArguments, checkJson, copied } from "./json.js";
import type { Keys } from "./keys.js";
import * as keys from "./keys.js";
import { CALL, KEYS } from "./names.js";
import { checkOptions, checkRequestWords } from "./options.js";
import type { Session } from "./session.js";
import type { CreateBody, DecisionWord, Json, JsonObject, Risk } from "./wire.js";

export interface Call {
  tool: string;
  arguments: JsonObject;
  /** Groups requests for people. From the surrounding session unless given. */
  session?: string;
  keys?: Keys;
  /** The agent's own words: shown as untrusted text. */
  summary?: string;
  /** May raise the risk that policy sees, never lower it. */
  risk?: Risk;
  /** Where the call comes from; covered by the digest. */
  context?: JsonObject;
  /** Which decisions the caller can use; `deny` is always possible. Approve, edit and deny unless given. */
  allowed?: readonly DecisionWord[];
  /** How long deciding may take; kept by the server. */
  expiresIn?: Duration;
  onBehalfOf?: string;
  group?: string;
  /** JSON Schema. The server refuses edits that do not fit, and they are checked here once more. */
  argumentsSchema?: Json;
  /** Checks edited arguments before the run: a JSON Schema, a Standard Schema, or anything with `parse`. */
  check?: EditCheck;
  /** Running it twice does no harm: if an earlier run has an unknown outcome, a person is asked again. */
  idempotent?: boolean;
}

/** A request of any kind, ready to be sent. */
export interface PreparedRequest {
  /** The name for the model: the tool, or the kind of question. */
  label: string;
  body: CreateBody;
  keys: () => Keys | Promise<Keys>;
  /** Whether an approval is a permit that must be claimed. */
  claims: boolean;
  /** What edited arguments must fit. */
  checks?: EditCheck[];
  idempotent?: boolean;
}

/** The request of a call, in the given session or the one around the caller. */
export function prepareRequest(client: Placet, call: Call, around: Session | undefined): PreparedRequest {
  checkOptions("a call", call, CALL);
  if (call.keys !== undefined) checkOptions("keys", call.keys, KEYS);
  checkRequestWords(call);
  const context = { ...around?.context(), ...call.context };
  const id = call.session ?? around?.id;
  const body = action(
    Object.keys(context).length === 0 ? call : { ...call, context },
    id ?? client.anonymous,
  );
  const weak = () => {
    // Only a session with a given name is the same after a restart.
    if (id === undefined) return undefined;
    const parts = { ...around?.parts(), ...ownerParts(context), session: id };
    const what = { tool: call.tool, arguments: body.arguments };
    return keys.weak({ ...parts, ...what, ordinal: client.ordinal(around, id, call.tool, body.arguments) });
  };
  return {
    label: call.tool,
    body,
    keys: async () => call.keys ?? { strong: keys.random(), weak: await weak() },
    claims: true,
    checks: [call.argumentsSchema as EditCheck | undefined, call.check].filter((each) => each != null),
    idempotent: call.idempotent,
  };
}

/** App, tenant and user of a call, as its own context names them. */
export function ownerParts(context: JsonObject | undefined): Partial<Omit<keys.Whose, "session">> {
  const named = (["app", "tenant", "user"] as const).filter((name) => typeof context?.[name] === "string");
  return Object.fromEntries(named.map((name) => [name, context?.[name]]));
}

/** The body of the create, made of copies: what was checked is what travels. */
function action(call: Call, session: string): CreateBody & { arguments: JsonObject } {
  checkArguments(call.arguments);
  if (call.context !== undefined) checkJson(call.context);
  if (call.argumentsSchema !== undefined) checkJson(call.argumentsSchema);
  if (!/^[A-Za-z0-9_./:-]{1,200}$/.test(call.tool)) {
    throw new ConfigError(
      `the tool's name must be 1 to 200 letters, digits and _ . / : -, not ${JSON.stringify(call.tool)}`,
    );
  }
  const expires = call.expiresIn;
  return {
    kind: "action",
    session,
    tool: call.tool,
    arguments: copied(call.arguments) as JsonObject,
    ...(call.allowed === undefined ? {} : { allowed: [...call.allowed] }),
    ...(call.summary === undefined ? {} : { summary: call.summary }),
    ...(call.risk === undefined ? {} : { risk: call.risk }),
    ...(call.context === undefined ? {} : { context: copied(call.context) as JsonObject }),
    ...(expires === undefined ? {} : { expires_in: written(milliseconds(expires, "expiresIn")) }),
    ...(call.onBehalfOf === undefined ? {} : { on_behalf_of: call.onBehalfOf }),
    ...(call.group === undefined ? {} : { group: call.group }),
    ...(call.argumentsSchema === undefined ? {} : { arguments_schema: copied(call.argumentsSchema) }),
  };
}
