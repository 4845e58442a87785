/** The filters of the history: in the address, in calls, in the export. */
import type { Risk, State } from "@/api/extra";

export const STATES: State[] = [
  "pending",
  "approved",
  "denied",
  "answered",
  "expired",
  "cancelled",
  "claimed",
  "succeeded",
  "failed",
  "unknown",
  "lapsed",
  "revoked",
];
export const RISKS: Risk[] = ["low", "medium", "high", "critical"];

export interface Filters {
  state?: State;
  risk?: Risk;
  agent?: string;
  tool?: string;
  session?: string;
  q?: string;
}
const TEXTS = ["agent", "tool", "session", "q"] as const;

/** Takes what an address says; what makes no sense is left out. */
export function readFilters(search: Record<string, unknown>): Filters {
  const filters: Filters = {};
  const state = STATES.find((each) => each === search.state);
  const risk = RISKS.find((each) => each === search.risk);
  if (state) filters.state = state;
  if (risk) filters.risk = risk;
  for (const name of TEXTS) {
    const value = search[name];
    const text = typeof value === "number" ? String(value) : value;
    if (typeof text === "string" && text.trim() !== "") filters[name] = text.trim().slice(0, 200);
  }
  return filters;
}

/** Where the export with these filters is. A download cannot be signed, so a ticket that was signed goes with it. */
export function exportAddress(format: "jsonl" | "csv", filters: Filters, ticket: string): string {
  const query = new URLSearchParams({ format, ticket });
  for (const [name, value] of Object.entries(filters)) if (value) query.set(name, value);
  return `/v1/requests/export?${query}`;
}
