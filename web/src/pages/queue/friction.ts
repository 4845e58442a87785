/** What an approval takes: more with a higher risk. Pure. */
import type { RequestRecord, Risk, Word } from "@/api/extra";

export interface Friction {
  /** A dialog comes first. */
  confirm: boolean;
  /** What must be typed. */
  type: string | null;
  /** The step-up code must be typed. */
  code: boolean;
  /** The decision can be undone before it is sent. */
  undo: boolean;
}

export function frictionOf(
  record: Pick<RequestRecord, "risk" | "needs" | "tool" | "kind">,
  word: Word,
): Friction {
  const grave = record.risk === "high" || record.risk === "critical";
  if (word === "deny") return { confirm: true, type: null, code: false, undo: !grave };
  const code = record.needs.step_up !== null;
  return {
    confirm: record.risk !== "low" || code,
    // The code is stronger than the name, so the name is not asked for as well.
    type: grave && !code ? (record.tool ?? record.kind) : null,
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
