/** SHA-256 over the same canonical bytes as the server's, in every runtime. */
import { canonical } from "./json.js";
import { builtin } from "./runtime.js";
import type { JsonObject, RequestRecord } from "./wire.js";

const utf8 = new TextEncoder();

/** Node's hash is synchronous; `crypto.subtle` uses a queue of threads, which costs a busy agent milliseconds. */
const node = builtin<{
  createHash(name: string): { update(text: string, encoding: "utf8"): { digest(form: "hex"): string } };
}>("node:crypto");

/** Lower-case hexadecimal SHA-256 of a text in UTF-8. */
export async function sha256(text: string): Promise<string> {
  if (node) return node.createHash("sha256").update(text, "utf8").digest("hex");
  const hash = await crypto.subtle.digest("SHA-256", utf8.encode(text));
  return hex(new Uint8Array(hash));
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** `sha256:…` of the RFC 8785 form of a JSON value: what a report carries as `result_digest`. */
export async function digest(value: unknown): Promise<string> {
  return `sha256:${await sha256(canonical(value))}`;
}

/** The fields of each kind that a person decides about. */
export const FIELDS: { readonly [kind: string]: readonly (keyof RequestRecord)[] } = {
  action: ["tool", "arguments", "arguments_schema"],
  plan: ["title", "steps", "can_modify", "estimated_duration"],
  input: ["question", "input", "required", "default"],
  confirmation: ["message", "details", "confirm_label", "cancel_label"],
};

/** The digest of a request, computed from its record; with other arguments in place, that of an edit. */
export async function requestDigest(record: RequestRecord, edited?: JsonObject): Promise<string> {
  const body: { [name: string]: unknown } = {};
  for (const field of FIELDS[record.kind] ?? []) {
    if (record[field] !== null && record[field] !== undefined) body[field] = record[field];
  }
  if (edited) body.arguments = edited;
  const { agent, created_at, id, kind, session } = record;
  const { context = null, nonce = null, on_behalf_of = null } = record;
  const whole = { agent, body, context, created_at, id, kind, nonce, on_behalf_of, session, space: "main" };
  return `sha256:${await sha256(`placet/request/v1\n${canonical(whole)}`)}`;
}

/** What a decision was made on, computed from the record that carries it. */
export async function decisionDigest(record: RequestRecord): Promise<string> {
  const { decision } = record;
  const proposed =
    decision?.decision === "respond"
      ? { answer: decision.answer ?? null }
      : decision?.steps
        ? { steps: decision.steps }
        : undefined;
  if (proposed) {
    const request = await requestDigest(record);
    return `sha256:${await sha256(`placet/proposal/v1\n${request}\n${canonical(proposed)}`)}`;
  }
  return requestDigest(record, (decision?.decision === "edit" && decision.arguments) || undefined);
}
