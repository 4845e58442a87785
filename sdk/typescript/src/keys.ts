/**
 * Idempotency keys. A strong key names one call for sure; a weak key names it well enough for a restarted process
 * to find its own open request again. The server matches strong first, then weak among requests that were not claimed.
 */
import { hex, sha256 } from "./digest.js";
import { canonical } from "./json.js";
import type { JsonObject } from "./wire.js";

export interface Keys {
  strong?: string;
  weak?: string;
}

/** The owner of a call, because two users may have sessions of one name. */
export interface Whose {
  app?: string;
  tenant?: string;
  user?: string;
  session: string;
}

/** From a call id of the framework that is the same after a restart. */
export async function strong(parts: Whose & { framework: string; callId: string }): Promise<string> {
  const { framework, app = null, tenant = null, user = null, session, callId } = parts;
  return `s2:${await sha256(canonical([framework, app, tenant, user, session, callId]))}`;
}

/** From what the call is; `ordinal` counts equal calls of one turn, so that two intended ones stay two. */
export async function weak(
  parts: Whose & { turn?: string; agent?: string; tool: string; arguments: JsonObject; ordinal: number },
): Promise<string> {
  const { app = null, tenant = null, user = null, session, turn = null, agent = null, tool, ordinal } = parts;
  const whole = [app, tenant, user, session, turn, agent, tool, parts.arguments, ordinal];
  return `w2:${await sha256(canonical(whole))}`;
}

/** A key for a call that has no stable identity of its own. */
export function random(): string {
  return `r1:${hex(crypto.getRandomValues(new Uint8Array(16)))}`;
}

/** The secret that a permit is claimed with. Kept in memory only. */
export function claimant(): string {
  return hex(crypto.getRandomValues(new Uint8Array(32)));
}
