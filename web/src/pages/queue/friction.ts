/** What an approval takes: more with a higher risk. Pure. */
import { cardOf } from "@/api/card";
import type { RequestRecord, Risk, Word } from "@/api/extra";
import { type TypedWord, wordOf } from "./card/word";

export interface Friction {
  /** A dialog comes first. */
  confirm: boolean;
  /** What must be typed: something of the content. */
  type: TypedWord | null;
  /** The step-up code must be typed. */
  code: boolean;
  /** The decision can be undone before it is sent. */
  undo: boolean;
}

export function frictionOf(record: RequestRecord, word: Word): Friction {
  const grave = record.risk === "high" || record.risk === "critical";
  if (word === "deny") return { confirm: true, type: null, code: false, undo: !grave };
  const code = record.needs.step_up !== null;
  const card = cardOf(record);
  return {
    confirm: record.risk !== "low" || code,
    // The code is stronger than the word, so the word is not asked for as well.
    type: grave && !code && card ? wordOf(card, record.tool) : null,
    code,
    undo: !grave && !code,
  };
}

/** Milliseconds in which buttons do nothing after the content changed. */
export const SETTLE = 700;

/** Whether the shown state is one that can be decided on. */
export function decidable(record: Pick<RequestRecord, "state">): boolean {
  return record.state === "pending";
}

export function rises(from: Risk, to: Risk): boolean {
  const order: Risk[] = ["low", "medium", "high", "critical"];
  return order.indexOf(to) > order.indexOf(from);
}
