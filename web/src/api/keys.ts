/** Names of what the query cache holds. */
export const keys = {
  session: ["session"] as const,
  sessions: ["sessions"] as const,
  /** The live queue. The live connection fills it; components do not fetch it. */
  queue: ["queue"] as const,
  request: (id: string) => ["request", id] as const,
  requestHistory: (id: string) => ["request-history", id] as const,
  /** Lists of past requests: `[...keys.requests, filters]`. Read again when something happens. */
  requests: ["requests"] as const,
  policy: ["policy"] as const,
  policySuggestions: ["policy", "suggestions"] as const,
  policyVersion: (hash: string) => ["policy", hash] as const,
  grants: ["grants"] as const,
  freezes: ["freezes"] as const,
  people: ["people"] as const,
  keyList: ["keys"] as const,
  agents: ["agents"] as const,
  ledger: ["ledger"] as const,
  ledgerStatus: ["ledger-status"] as const,
  stats: (days: number) => ["stats", days] as const,
};
