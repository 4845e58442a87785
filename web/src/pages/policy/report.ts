/** What a simulation says, in the shapes the page draws. */

export type Effect = "allow" | "confined" | "hold" | "deny";
/** An effect as the server says it, and how what is allowed has to be confined. */
interface Change {
  from: Exclude<Effect, "confined">;
  from_confine?: string | undefined;
  to: Exclude<Effect, "confined">;
  to_confine?: string | undefined;
  count: number;
  examples: Example[];
}
export interface Example {
  id: string;
  agent: string;
  tool: string | null;
  before: string;
  after: string;
}
export interface Report {
  denied_now_allowed: Example[];
  denied_now_allowed_count: number;
  changes: Change[];
  total: number;
  unchanged: number;
  risk_changed: number;
  rule_changed: number;
  prompts_saved: number;
  prompts_added: number;
  median_decision_seconds: number | null;
  human_minutes_saved: number | null;
}
export type SimulateLine = { done: number; of: number; requests: number } | { report: Report };

/** How loose an effect is: what becomes looser is shown first. */
const LOOSE: Record<Effect, number> = { deny: 0, hold: 1, confined: 2, allow: 3 };

/** The effects then and now; confined is between held and allowed. */
const ends = (change: Change): { from: Effect; to: Effect } => ({
  from: change.from_confine === undefined ? change.from : "confined",
  to: change.to_confine === undefined ? change.to : "confined",
});

export type Danger = "denied" | "looser" | "stricter";
export interface ChangedRequest extends Example {
  from: Effect;
  to: Effect;
  danger: Danger;
}

/** The requests that would be judged differently: what a person denied first, then what becomes looser. */
export function changedRequests(report: Report): ChangedRequest[] {
  const denied = new Set(report.denied_now_allowed.map(({ id }) => id));
  const out: ChangedRequest[] = report.denied_now_allowed.map((each) => {
    const change = report.changes.find(({ examples }) => examples.some(({ id }) => id === each.id));
    return { ...each, ...(change ? ends(change) : { from: "hold", to: "allow" }), danger: "denied" };
  });
  const rest: ChangedRequest[] = [];
  for (const change of report.changes) {
    const { from, to } = ends(change);
    for (const each of change.examples) {
      if (denied.has(each.id)) continue;
      rest.push({ ...each, from, to, danger: LOOSE[to] > LOOSE[from] ? "looser" : "stricter" });
    }
  }
  rest.sort((left, right) => LOOSE[right.to] - LOOSE[right.from] - (LOOSE[left.to] - LOOSE[left.from]));
  return [...out, ...rest];
}

/** How many changed requests the report counts but does not name. */
export function unnamed(report: Report): number {
  const named = new Set(changedRequests(report).map(({ id }) => id)).size;
  const all = report.changes.reduce((sum, { count }) => sum + count, 0);
  return Math.max(0, all - named);
}

export interface Flow {
  from: string;
  to: string;
  flow: number;
}
/** Counts from the effect then to the effect now, for a Sankey plot. */
export function flows(report: Report): Flow[] {
  const out: Flow[] = report.changes.map((change) => ({
    from: `before:${ends(change).from}`,
    to: `after:${ends(change).to}`,
    flow: change.count,
  }));
  if (report.unchanged > 0) out.push({ from: "before:same", to: "after:same", flow: report.unchanged });
  return out;
}
