/**
 * Before anything runs: the answer is about the very call that was asked for, and somebody said yes to it. A server that
 * was replaced, or a cache in between, may answer anything, so nothing is believed that can be computed here.
 */
import { decisionDigest, FIELDS, requestDigest } from "./digest.js";
import { WrongAnswer } from "./errors.js";
import { canonical } from "./json.js";
import type { Claimed, CreateBody, Decision, JsonObject, RequestRecord } from "./wire.js";

/** One clause that says why a decision lets nothing run. */
export class AnswerMismatch extends Error {
  override name = "AnswerMismatch";
}

/** Whether a value of the wire is a request at all. */
export function isRecord(value: unknown): value is RequestRecord {
  const found = value as Partial<RequestRecord> | null;
  return (
    typeof found === "object" &&
    found !== null &&
    typeof found.id === "string" &&
    typeof found.state === "string" &&
    Number.isInteger(found.version)
  );
}

/** Throws `WrongAnswer` unless the record is of this request. */
export function ofRequest(record: RequestRecord, id: string): void {
  if (record.id !== id) {
    throw new WrongAnswer(`the server answered about another request: ${record.id} in place of ${id}`);
  }
}

const other = () => new AnswerMismatch("what was approved is not what was asked for here");

/** Throws `AnswerMismatch` unless the record is of the request that was asked for with this body. */
function about(body: CreateBody, record: RequestRecord): void {
  for (const name of ["kind", "session", "tool", "on_behalf_of"] as const) {
    if ((record[name] ?? null) !== (body[name] ?? null)) throw other();
  }
  for (const name of FIELDS[body.kind] ?? []) {
    const ours = body[name as keyof CreateBody] ?? null;
    // What was not said may have a default on the server.
    if (ours !== null && !same(ours, record[name] ?? null, name === "arguments")) throw other();
  }
}

/** What was approved of an action. Throws `AnswerMismatch` when the record does not prove a yes to this very call. */
export async function approvedArguments(body: CreateBody, record: RequestRecord): Promise<JsonObject> {
  const { decision: word, arguments: args } = await agreed(body, record);
  if (word === "edit") {
    if (body.allowed && !body.allowed.includes("edit")) throw new AnswerMismatch("edits cannot be used here");
    if (!isObject(args))
      throw new AnswerMismatch("it was approved with changes, and the answer does not have them");
    return args;
  }
  if (args !== null && args !== undefined) {
    throw new AnswerMismatch("the arguments came back changed, and nobody edited them");
  }
  return body.arguments ?? {};
}

/** The decision, once it is known to be in favour, and made on what was asked for. */
export function agreed(body: CreateBody, record: RequestRecord): Promise<Decision> {
  return decided(body, record, ["approve", "edit"]);
}

/** Throws `AnswerMismatch` unless somebody answered this very request with what the record says. */
export async function answered(body: CreateBody, record: RequestRecord): Promise<void> {
  await decided(body, record, ["respond"]);
}

async function decided(body: CreateBody, record: RequestRecord, words: readonly string[]): Promise<Decision> {
  about(body, record);
  const { decision } = record;
  if (!isObject(decision)) throw new AnswerMismatch("it has no decision");
  if (!words.includes(decision.decision)) {
    throw new AnswerMismatch(`the decision is ${shown(decision.decision)}, which is no decision in favour`);
  }
  let asked: string;
  let on: string;
  try {
    [asked, on] = [await requestDigest(record), await decisionDigest(record)];
  } catch {
    throw new AnswerMismatch("its digest cannot be computed from what it says");
  }
  if (record.digest !== asked || decision.digest !== on) throw other();
  return decision;
}

/** Throws `AnswerMismatch` unless the permit is for what was approved. */
export function permitted(record: RequestRecord, approved: JsonObject, claimed: Claimed): void {
  if (claimed.digest !== record.decision?.digest) {
    throw new AnswerMismatch("the permit is for something else than what was approved");
  }
  if (!same(approved, claimed.arguments, true)) {
    throw new AnswerMismatch(
      record.decision.decision === "edit"
        ? "the arguments of the permit are not the ones that were approved"
        : "the arguments came back changed, and nobody edited them",
    );
  }
}

function same(ours: unknown, theirs: unknown, exact: boolean): boolean {
  try {
    return exact
      ? canonical(ours) === canonical(theirs)
      : canonical(given(ours)) === canonical(given(theirs));
  } catch {
    return false;
  }
}

/** Without what is null: the server writes out what a question leaves out. */
function given(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(given);
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([, item]) => item !== null && item !== undefined);
  return Object.fromEntries(members.map(([name, item]) => [name, given(item)]));
}

export function isObject<T>(value: T): value is T & object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  return (JSON.stringify(value ?? null) ?? "").slice(0, 80);
}
