import { describe, expect, it } from "vitest";
import { changedRequests, flows, type Report, unnamed } from "./report";

const example = (id: string) => ({ id, agent: "bot", tool: "t", before: "a", after: "b" });
const report: Report = {
  denied_now_allowed: [example("danger")],
  denied_now_allowed_count: 1,
  changes: [
    { from: "allow", to: "hold", count: 3, examples: [example("stricter")] },
    { from: "hold", to: "allow", count: 5, examples: [example("looser"), example("danger")] },
  ],
  total: 20,
  unchanged: 12,
  risk_changed: 0,
  rule_changed: 0,
  prompts_saved: 5,
  prompts_added: 3,
  median_decision_seconds: 2,
  human_minutes_saved: 0.1,
};

describe("changed requests", () => {
  it("lists what a person denied first, then what becomes looser, each once", () => {
    expect(changedRequests(report).map(({ id, danger }) => `${id} ${danger}`)).toEqual([
      "danger denied",
      "looser looser",
      "stricter stricter",
    ]);
  });
  it("says how many it does not name", () => {
    expect(unnamed(report)).toBe(5);
  });
});

describe("confined calls", () => {
  const change = { from: "allow", to: "allow", count: 2, examples: [example("loosened")] } as const;
  const loosened: Report = {
    ...report,
    denied_now_allowed: [],
    denied_now_allowed_count: 0,
    changes: [{ ...change, from_confine: "workspace", examples: [...change.examples] }],
  };
  it("are looser without and stricter with it", () => {
    expect(changedRequests(loosened).map(({ from, to, danger }) => [from, to, danger])).toEqual([
      ["confined", "allow", "looser"],
    ]);
    expect(flows(loosened)[0]).toEqual({ from: "before:confined", to: "after:allow", flow: 2 });
  });
});

describe("flows", () => {
  it("add up to everything that was looked at", () => {
    expect(flows(report).reduce((sum, { flow }) => sum + flow, 0)).toBe(report.total);
  });
});
