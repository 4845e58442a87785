/** What to look at twice: what the server flags, and what the proxy notes. Pure. */
import type { CardFlag, CardView } from "@/api/card";
import type { RequestRecord } from "@/api/extra";
import { noted } from "./pause";

/** What to look at twice. Reasons of policy about the request as a whole stand below, where they are not warnings. */
export function flagsOf(record: RequestRecord, card: CardView): CardFlag[] {
  const reasons = new Set(record.verdict.reasons);
  return [
    ...card.flagged.filter(({ pointer, why }) => pointer !== "" || !reasons.has(why)),
    ...noted(record),
  ];
}
