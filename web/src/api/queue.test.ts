import { expect, test } from "vitest";
import { sentenceOf } from "./card";
import type { Row } from "./extra";
import { record, row } from "./fixtures";
import {
  addPage,
  KEPT,
  patchQueue,
  type QueueData,
  replaceQueue,
  toRow,
  votesOf,
  withoutDecided,
} from "./queue";

function queue(...rows: Row[]): QueueData {
  return replaceQueue(undefined, { items: rows, next_cursor: null, seq: 1, event_id: "e.1" });
}

test("a newer row takes the place of an older one, never the other way round", () => {
  const data = queue(row("a", { version: 3 }));
  expect(patchQueue(data, [row("a", { version: 2, state: "denied" })])).toBe(data);
  const after = patchQueue(data, [row("a", { version: 4, state: "denied" })], "e.9");
  expect(after.rows.get("a")?.state).toBe("denied");
  expect(after.pending).toBe(0);
  expect(after.eventId).toBe("e.9");
});

test("new pending requests are added, decided strangers are not", () => {
  const after = patchQueue(queue(row("a")), [row("b"), row("c", { state: "approved" })]);
  expect([...after.rows.keys()]).toEqual(["a", "b"]);
  expect(after.pending).toBe(2);
});

test("a patch leaves the data before it alone", () => {
  const data = queue(row("a"));
  patchQueue(data, [row("b")]);
  expect(data.rows.size).toBe(1);
});

test("only so many decided rows are kept, the newest ones", () => {
  const many = Array.from({ length: KEPT + 5 }, (_, index) => row(`r${index}`));
  const decided = many.map((one, index) => ({
    ...one,
    version: 2,
    state: "denied" as const,
    decided_at: new Date(1_800_000_000_000 + index * 1000).toISOString(),
  }));
  const after = patchQueue(queue(...many), decided);
  expect(after.rows.size).toBe(KEPT);
  expect(after.rows.has("r0")).toBe(false);
  expect(after.rows.has(`r${KEPT + 4}`)).toBe(true);
});

test("a request that was decided before its page came is not pending again", () => {
  const first = replaceQueue(undefined, { items: [row("a")], next_cursor: "x", seq: 1, event_id: "e.1" });
  // The stream says that b was decided; the page that lists it was read before that.
  const told = patchQueue(first, [row("b", { version: 2, state: "denied" })], "e.2");
  const more = addPage(told, [row("b"), row("c")], false);
  expect([...more.rows.keys()]).toEqual(["a", "c"]);
  expect([more.pending, more.complete, more.eventId]).toEqual([2, false, "e.2"]);
  const all = addPage(more, [row("b"), row("d")], true);
  expect([...all.rows.keys()]).toEqual(["a", "c", "d"]);
  expect([all.complete, all.gone.size]).toEqual([true, 0]);
  // Once everything is there, strangers that were decided are of no interest.
  expect(patchQueue(all, [row("z", { version: 2, state: "denied" })])).toBe(all);
});

test("what the stream said of a row counts more than a page that was read before", () => {
  const first = replaceQueue(undefined, { items: [], next_cursor: "x", seq: 1, event_id: "e.1" });
  const told = patchQueue(first, [row("b", { version: 3, risk: "high" })]);
  expect(addPage(told, [row("b", { version: 2 })], true).rows.get("b")).toMatchObject({
    version: 3,
    risk: "high",
  });
});

test("a list that is read again keeps decided rows and drops pending ones that are gone", () => {
  const before = patchQueue(queue(row("a"), row("b")), [row("a", { version: 2, state: "denied" })]);
  const after = replaceQueue(before, { items: [row("c")], next_cursor: "x", seq: 2, event_id: "e.2" });
  expect([...after.rows.keys()]).toEqual(["a", "c"]);
  expect(after.complete).toBe(false);
  expect([...withoutDecided(after).rows.keys()]).toEqual(["c"]);
});

test("a record becomes a row without the agent's words", () => {
  const made = toRow(record());
  expect(made).toMatchObject({
    view: { sentence: "Call delete_files with 1 argument", hidden: 1 },
    effect: "Call delete_files with 1 argument",
    needs_step_up: true,
    lineage: ["planner"],
  });
  expect(made.votes).toEqual({ have: 1, need: 2 });
  expect(JSON.stringify(made)).not.toContain("trust me");
});

const proposal = {
  by: "ann",
  decision: "edit" as const,
  digest: "e",
  at: "",
  arguments: {},
  answer: null,
  steps: null,
};

test("votes on another digest do not count", () => {
  expect(votesOf(record({ proposal: { ...proposal, by: "bob" } })).have).toBe(0);
});

test("with four eyes the author of a replacement does not count", () => {
  const votes = ["ann", "bob"].map((by) => ({
    by,
    vote: "approve" as const,
    digest: "e",
    at: "",
    auth: "token",
  }));
  const needs = { any: [{ all: [{ people: 2, team: null }] }], four_eyes: true, step_up: null };
  expect(votesOf(record({ proposal, votes, needs }))).toEqual({ have: 1, need: 2 });
  expect(votesOf(record({ proposal, votes, needs: { ...needs, four_eyes: false } })).have).toBe(2);
});

test("the server's sentence is used where there is one", () => {
  const display = { digest: "", fields: [], effect: "Delete 1 file: a" };
  expect(sentenceOf(record({ display }))).toBe("Delete 1 file: a");
  expect(sentenceOf(record({ display, view: { sentence: "Delete a", hidden: 1 } }))).toBe("Delete a");
});
