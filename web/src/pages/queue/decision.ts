/** A decision on what was shown, and what it depends on. Pure. */
import { cardOf } from "@/api/card";
import type { Decide, RequestRecord, Word } from "@/api/extra";

/** A decision on exactly what this record shows. */
export function decisionOn(record: RequestRecord, word: Word, more: Partial<Decide> = {}): Decide {
  const body: Decide = {
    decision: word,
    digest: record.proposal?.digest ?? record.digest,
    version: record.version,
    ...more,
  };
  // A no needs no proof of what was seen, so that it always works.
  if (word === "deny") return body;
  const view = cardOf(record)?.digest;
  if (view) body.view = view;
  else if (record.display?.digest) body.display = record.display.digest;
  return body;
}

/** A key of the content that a decision is about. It changes with the content, and not with another person's vote. */
export function viewKey(record: RequestRecord): string {
  return JSON.stringify([
    record.state,
    record.digest,
    record.proposal?.digest ?? null,
    record.needs,
    record.risk,
    cardOf(record)?.digest ?? null,
  ]);
}
