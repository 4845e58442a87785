/**
 * Idempotency keys. A strong key names one call for sure; a weak key names it well enough for a restarted process
 * to find its own open request again. The server matches strong first, then weak among requests nobody claimed.
 */
import { hex, sha256 } from "./digest.js";
import { canonical } from "./json.js";
import type { JsonObject } from "./wire.js";

export interface Keys {
  strong?: string;
  weak?: string;
}

/** From a call id of the framework that is the same after a restart. */
export async function strong(parts: {
  framework: string;
  app?: string;
  session: string;
  callId: string;
}): Promise<string> {
  return `s1:${await sha256(canonical([parts.framework, parts.app ?? null, parts.session, parts.callId]))}`;
}

/** From what the call is; `ordinal` counts equal calls, so that two intended ones stay two. */
export async function weak(parts: {
  app?: string;
  session: string;
  agent?: string;
  tool: string;
  arguments: JsonObject;
  ordinal: number;
}): Promise<string> {
  const { app = null, session, agent = null, tool, ordinal } = parts;
  return `w1:${await sha256(canonical([app, session, agent, tool, parts.arguments, ordinal]))}`;
}

/** A key for a call that has no stable identity of its own. */
export function random(): string {
  return `r1:${hex(crypto.getRandomValues(new Uint8Array(16)))}`;
}

/** The secret that a permit is claimed with. Kept in memory only. */
export function claimant(): string {
  return hex(crypto.getRandomValues(new Uint8Array(32)));
}
