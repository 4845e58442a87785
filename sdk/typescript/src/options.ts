/** Checks options when they are given, so that a misspelt option is an error. */
import { ConfigError } from "./errors.js";
import type { DecisionWord, Risk } from "./wire.js";

/** The names of an interface, which the compiler keeps complete. */
export type Names<T> = Record<keyof Required<T>, true>;

/** Refuses unknown options and suggests the nearest names. */
export function checkOptions(what: string, given: unknown, names: Record<string, true>): void {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new ConfigError(`${what} takes an object with options, not ${shown(given)}`);
  }
  const known = Object.keys(names);
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const each = unknown.map((name) => `${JSON.stringify(name)}${meant(name, known)}`);
  throw new ConfigError(
    `${what} has no option ${each.join(", nor ")}. Its options are: ${[...known].sort().join(", ")}`,
  );
}

/** Refuses a word that is none of these. Not given is fine. */
export function checkWord(what: string, given: unknown, words: readonly string[]): void {
  if (given === undefined || (typeof given === "string" && words.includes(given))) return;
  const listed = words.map((word) => JSON.stringify(word));
  const last = listed.pop();
  throw new ConfigError(`${what} must be ${listed.join(", ")} or ${last}, not ${shown(given)}`);
}

/** Refuses what is neither a function nor `null`. Not given is fine. */
export function checkListener(what: string, given: unknown): void {
  if (given === undefined || given === null || typeof given === "function") return;
  throw new ConfigError(`${what} must be a function or null, not ${shown(given)}`);
}

const RISKS = Object.keys({ low: true, medium: true, high: true, critical: true } satisfies Record<
  Risk,
  true
>);
const DECISIONS = Object.keys({ approve: true, deny: true, edit: true, respond: true } satisfies Record<
  DecisionWord,
  true
>);
export const OUTAGES = ["deny", "raise", "pause"] as const;
export const REPORTS = ["wait", "background"] as const;
export const REFUSALS = ["return", "raise"] as const;

/** Checks the fields of a request when they are configured. Functions are called later. */
export function checkRequestWords(given: { risk?: unknown; allowed?: unknown }): void {
  const { risk, allowed } = given;
  if (typeof risk !== "function") checkWord("risk", risk, RISKS);
  if (allowed === undefined) return;
  if (!Array.isArray(allowed))
    throw new ConfigError(`allowed must be a list of decisions, not ${shown(allowed)}`);
  for (const word of allowed) checkWord("allowed", word, DECISIONS);
}

/** ` (did you mean "x" or "y"?)`, or nothing when no name is near. */
export function meant(name: string, candidates: readonly string[]): string {
  const near = nearest(name, candidates).map((each) => JSON.stringify(each));
  return near.length === 0 ? "" : ` (did you mean ${near.join(" or ")}?)`;
}

/** At most three similar names, the nearest first. */
export function nearest(name: string, candidates: readonly string[]): string[] {
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, "");
  const wanted = plain(name);
  return [...new Set(candidates)]
    .map((each) => ({ each, far: distance(wanted, plain(each)) }))
    .filter(({ each, far }) => far <= Math.max(2, Math.ceil(Math.max(wanted.length, each.length) / 3)))
    .sort((one, other) => one.far - other.far)
    .slice(0, 3)
    .map(({ each }) => each);
}

/** How many letters must be put in, taken out or replaced. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, replaced));
    }
    row = next;
  }
  return row[to.length] as number;
}

function shown(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
