/** Every way a call can end without a yes, as exceptions with one clear sentence each. */
import type { RequestRecord } from "./wire.js";

/** The base of everything this package throws on purpose. */
export class PlacetError extends Error {
  override name = "PlacetError";
}

/** Something in this program's set-up is wrong: the address, the key, an option. Trying again does not help. */
export class ConfigError extends PlacetError {
  override name = "ConfigError";
}

/** What answered is not a Placet server of this version: a proxy's page, another program, a broken answer. */
export class ProtocolError extends PlacetError {
  /** Whether it was tried again until the outage budget was spent. */
  outage = false;
  override name = "ProtocolError";
}

/** The server answered about another call than the one that was asked for, or without an end. Nothing was run. */
export class WrongAnswer extends ProtocolError {
  override name = "WrongAnswer";
}

/** A value cannot be shown to a person as JSON; `path` is a JSON pointer to it. */
export class NotJson extends PlacetError {
  override name = "NotJson";
  constructor(
    readonly path: string,
    what: string,
    /** The server's own code for it, where it has one. */
    readonly code = "not_json",
  ) {
    super(`${path === "" ? "the value" : path}: ${what}`);
  }
}

/** The server refused a call: an RFC 9457 document. Look at `code`; `detail` is for people. */
export class Problem extends PlacetError {
  override name = "Problem";
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    /** The field that does not fit. */
    readonly pointer?: string,
    /** The request as it stands, where the refusal is about one. */
    readonly record?: RequestRecord,
    /** Milliseconds the server asks to be left alone. */
    readonly retryAfter?: number,
  ) {
    super(`the server refused this: ${detail}${pointer ? ` (${pointer})` : ""} [${status} ${code}]`);
  }
}

/** The call was not allowed to run. What kind of no it was is the class. */
export class Refused extends PlacetError {
  override name = "Refused";
  constructor(
    message: string,
    /** The request, as far as it is known. */
    readonly requestId?: string,
    readonly reason?: string,
  ) {
    super(message);
  }
}

/** A person or the policy said no. */
export class Denied extends Refused {
  override name = "Denied";
}
/** The person answered in place of a run; `answer` is what they said. */
export class Answered extends Refused {
  override name = "Answered";
  constructor(
    message: string,
    requestId: string | undefined,
    readonly answer: unknown,
  ) {
    super(message, requestId);
  }
}
/** Nobody decided in time. */
export class Expired extends Refused {
  override name = "Expired";
}
/** The request was withdrawn. */
export class Cancelled extends Refused {
  override name = "Cancelled";
}
/** The approval was taken back before it was claimed. */
export class Revoked extends Refused {
  override name = "Revoked";
}
/** The approval was not claimed in time. */
export class Lapsed extends Refused {
  override name = "Lapsed";
}
/** The approval service was away for longer than the outage budget. Nobody said no, and nothing was run. */
export class Unreachable extends Refused {
  override name = "Unreachable";
}
/** Somebody else claimed the permit; whether it ran is not known here. */
export class OutcomeUnknown extends Refused {
  override name = "OutcomeUnknown";
}
/** Another name of `OutcomeUnknown`: in Python it was the first one. */
export const UnknownOutcome = OutcomeUnknown;
export type UnknownOutcome = OutcomeUnknown;
/** Nobody has decided yet, and the request was left open. */
export class StillPending extends Refused {
  override name = "StillPending";
}
/** It was approved, and could not be run as approved: edited arguments that do not fit, a permit for something else. */
export class NotRunnable extends Refused {
  override name = "NotRunnable";
}
/** Another name of `NotRunnable`: in Python it was the first one. */
export const NotRun = NotRunnable;
export type NotRun = NotRunnable;
