/** Marks tests that show a topology of agents, and counts what was asked, what was decided, and what really ran. */
import { appendFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { RequestRecord } from "../../src/index.js";
import { canonical } from "../../src/json.js";

export type FrameworkName = "AI SDK" | "LangGraph.js" | "OpenAI Agents" | "Mastra";
export type TopologyName =
  | "parallel"
  | "sequential"
  | "loop"
  | "nested twice"
  | "handoff"
  | "streaming"
  | "workflow"
  | "killed while held"
  | "killed while resuming"
  | "two users with one session id";

/** What the server has on record, and the arguments of everything that ran. */
export interface Evidence {
  records: readonly RequestRecord[];
  ran: readonly unknown[];
}

export interface Count {
  asked: number;
  approved: number;
  denied: number;
  ran: number;
}

const sorted = (values: readonly unknown[]) => values.map((each) => canonical(each)).sort();

/** Counts, and holds the rule of all topologies: what was approved ran once as it was approved, and nothing else ran. */
export function counted({ records, ran }: Evidence): Count {
  const saying = (...words: string[]) =>
    records.filter(({ decision }) => decision && words.includes(decision.decision) && decision.by.length > 0);
  const yes = saying("approve", "edit");
  const no = saying("deny");
  const approved = yes.map(({ decision, arguments: asked }) =>
    decision?.decision === "edit" ? decision.arguments : asked,
  );
  expect(sorted(ran)).toEqual(sorted(approved));
  expect(yes.length + no.length, "a person has decided everything").toBe(records.length);
  expect(yes.length, "something is approved").toBeGreaterThan(0);
  expect(no.length, "something is denied").toBeGreaterThan(0);
  return { asked: records.length, approved: yes.length, denied: no.length, ran: ran.length };
}

/**
 * A test that shows a topology of a framework. With `PLACET_TOPOLOGIES=FILE` it leaves a line of JSON in that file. Without a
 * framework it is a plain test: not all frameworks have a column.
 */
export function topology(
  framework: FrameworkName | undefined,
  name: TopologyName,
  fact: string,
  play: () => Promise<Evidence>,
): void {
  test(fact, async () => {
    let seen: Partial<Count> = {};
    let outcome = "failed";
    try {
      seen = counted(await play());
      outcome = "passed";
    } finally {
      const file = process.env.PLACET_TOPOLOGIES;
      const line = { framework, topology: name, test: expect.getState().currentTestName, outcome, ...seen };
      if (file && framework) appendFileSync(file, `${JSON.stringify(line)}\n`);
    }
  });
}
