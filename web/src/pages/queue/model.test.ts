import { expect, test } from "vitest";
import type { Row } from "@/api/extra";
import { row } from "@/api/fixtures";
import {
  arrange,
  byUrgency,
  countSame,
  first,
  holdOrder,
  last,
  matches,
  move,
  nextPending,
  splitBatch,
} from "./model";

const ids = (rows: Row[]) => rows.map((one) => one.id);
const none = new Set<string>();

test("the nearest deadline comes first, then the higher risk, then the older", () => {
  const rows = [
    row("late", { expires_at: "2026-11-15T12:00:00Z", risk: "critical" }),
    row("low"),
    row("high", { risk: "high" }),
    row("older", { created_at: "2026-11-15T09:00:00Z" }),
    row("offset", { expires_at: "2026-11-15T12:30:00+02:00" }),
  ];
  expect(ids(rows.sort(byUrgency))).toEqual(["offset", "high", "older", "low", "late"]);
});

test("a decided row keeps its place", () => {
  const rows = [row("a"), row("b", { state: "denied" }), row("c")];
  expect(ids([...rows].sort(byUrgency))).toEqual(["a", "b", "c"]);
});

test("filters: risk is a floor, words are looked for everywhere", () => {
  const one = row("a", { risk: "high", effect: "Pay 10 EUR to ACME", agent: "billing" });
  expect(matches(one, { risk: "medium" })).toBe(true);
  expect(matches(one, { risk: "critical" })).toBe(false);
  expect(matches(one, { q: "acme billing" })).toBe(true);
  expect(matches(one, { q: "acme nobody" })).toBe(false);
  expect(matches(one, { kind: "plan" })).toBe(false);
  expect(matches(one, { session: "s2" })).toBe(false);
});

test("groups stand in the order of their most urgent row and count what is pending", () => {
  const rows = [
    row("a", { session: "x" }),
    row("b", { session: "y", risk: "high" }),
    row("c", { session: "x", state: "denied" }),
  ];
  const items = arrange(rows, "session", none);
  expect(items.map((item) => item.key)).toEqual(["session:bot\nx", "a", "c", "session:bot\ny", "b"]);
  expect(items[0]).toMatchObject({ type: "group", pending: 1, folded: false });
  expect(items[3]).toMatchObject({ type: "group", risk: "high" });
  expect(arrange(rows, "session", new Set(["session:bot\nx"])).map((item) => item.key)).toEqual([
    "session:bot\nx",
    "session:bot\ny",
    "b",
  ]);
});

test("calls of one tool stand together only where their arguments have the same shape", () => {
  const rows = [
    row("a", { tool: "pay", shape: "one", effect: "Pay 1 EUR to x" }),
    row("b", { tool: "pay", shape: "two", effect: "Pay 2 EUR to y, with 1 more argument" }),
    row("c", { tool: "pay", shape: "one", effect: "Pay 3 EUR to z" }),
    row("d", { tool: "mail", shape: "three" }),
    row("e", { tool: null, kind: "plan", shape: null }),
    row("f", { tool: null, kind: "plan", shape: null }),
  ];
  const items = arrange(rows, "same", none);
  expect(items.map((item) => (item.type === "row" ? item.key : item.label))).toEqual([
    "pay · Pay 1 EUR to x",
    "a",
    "c",
    "pay · Pay 2 EUR to y, with 1 more argument",
    "b",
    "mail",
    "d",
    "plan",
    "e",
    "f",
  ]);
});

test("the cursor steps over heads of open groups and stops on folded ones", () => {
  const rows = [row("a", { session: "x" }), row("b", { session: "y" })];
  const open = arrange(rows, "session", none);
  expect(first(open)).toBe("a");
  expect(move(open, "a", 1)).toBe("b");
  expect(move(open, "b", 1)).toBe("b");
  expect(last(open)).toBe("b");
  const folded = arrange(rows, "session", new Set(["session:bot\nx"]));
  expect(first(folded)).toBe("session:bot\nx");
  expect(move(folded, "b", -1)).toBe("session:bot\nx");
  expect(move([], null, 1)).toBe(null);
});

test("while the order is held, known rows stay and new ones come last", () => {
  const sorted = [row("new"), row("a"), row("b")];
  expect(ids(holdOrder(["b", "a", "gone"], sorted))).toEqual(["b", "a", "new"]);
});

test("after a decision the cursor goes to the next pending row, else back", () => {
  const items = arrange([row("a"), row("b"), row("c", { state: "approved" })], "none", none);
  expect(nextPending(items, "a")).toBe("b");
  expect(nextPending(items, "b")).toBe("a");
  expect(nextPending(arrange([row("a")], "none", none), "a")).toBe(null);
});

test("only pending requests count as alike", () => {
  const rows = [row("a", { same: "k" }), row("b", { same: "k" }), row("c", { same: "k", state: "denied" })];
  expect(countSame(rows).get("k")).toBe(2);
});

test("a batch leaves out high risk, codes and questions", () => {
  const rows = [
    row("a"),
    row("b", { risk: "medium" }),
    row("c", { risk: "high" }),
    row("d", { needs_step_up: true }),
    row("e", { kind: "input" }),
  ];
  const { together, alone } = splitBatch(rows);
  expect(ids(together)).toEqual(["a", "b"]);
  expect(ids(alone)).toEqual(["c", "d", "e"]);
});

test("ten thousand rows are sorted and grouped", () => {
  const rows = Array.from({ length: 10_000 }, (_, index) =>
    row(`req_${index}`, {
      session: `s${index % 40}`,
      expires_at: new Date(1_800_000_000_000 + ((index * 7919) % 10_000) * 1000).toISOString(),
    }),
  );
  const items = arrange(rows.filter((one) => matches(one, { q: "delete" })).sort(byUrgency), "session", none);
  expect(items.length).toBe(10_040);
});
