import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Needs } from "@/api/extra";
import { record } from "@/api/fixtures";
import { placeOf } from "./card/place";
import { decisionOn, viewKey } from "./decision";
import { frictionOf } from "./friction";
import { formFields, numberFrom } from "./schema-form";
import { seatsOf, simple } from "./seats";
import { cover } from "./seen";
import { decisionsOf, draftOf, landing, place, shift, toHere, unchanged, update } from "./steps";
import { undoQueue, WINDOW } from "./undo";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("a decision is sent when its window is over, not before", () => {
  const queue = undoQueue();
  const send = vi.fn();
  queue.add("a", "Approve", send);
  vi.advanceTimersByTime(WINDOW - 1);
  expect(send).not.toHaveBeenCalled();
  expect(queue.waiting()).toHaveLength(1);
  vi.advanceTimersByTime(1);
  expect(send).toHaveBeenCalledTimes(1);
  expect(queue.waiting()).toHaveLength(0);
});

test("an undone decision is never sent; undo takes the newest", () => {
  const queue = undoQueue();
  const [one, two] = [vi.fn(), vi.fn()];
  queue.add("a", "Approve", one);
  queue.add("b", "Deny", two);
  expect(queue.undo()).toBe("b");
  expect(queue.undo("zzz")).toBe(null);
  vi.advanceTimersByTime(WINDOW * 2);
  expect(one).toHaveBeenCalledTimes(1);
  expect(two).not.toHaveBeenCalled();
  expect(queue.undo()).toBe(null);
});

test("a second decision on a request takes the place of the first", () => {
  const queue = undoQueue();
  const [one, two] = [vi.fn(), vi.fn()];
  queue.add("a", "Approve", one);
  vi.advanceTimersByTime(1000);
  queue.add("a", "Deny", two);
  vi.advanceTimersByTime(WINDOW);
  expect(one).not.toHaveBeenCalled();
  expect(two).toHaveBeenCalledTimes(1);
});

test("leaving drops what was not sent", () => {
  const queue = undoQueue();
  const send = vi.fn();
  queue.add("a", "Approve", send);
  queue.clear();
  vi.advanceTimersByTime(WINDOW * 2);
  expect(send).not.toHaveBeenCalled();
});

const needs: Needs = { any: [{ all: [{ people: 1, team: null }] }], four_eyes: false, step_up: null };

const view = {
  sentence: "Delete a1",
  digest: "d",
  sections: [],
  rest: [{ pointer: "/arguments/path", text: '"/srv/a1"' }],
  flagged: [],
  hidden: 0,
};

test("friction rises with the risk", () => {
  const of = (risk: "low" | "medium" | "high" | "critical", step_up: string | null = null) =>
    frictionOf(record({ risk, needs: { ...needs, step_up }, tool: "rm", view }), "approve");
  const word = { kind: "value", word: "a1" };
  expect(of("low")).toEqual({ confirm: false, type: null, code: false, undo: true });
  expect(of("medium")).toEqual({ confirm: true, type: null, code: false, undo: true });
  expect(of("high")).toEqual({ confirm: true, type: word, code: false, undo: false });
  expect(of("critical")).toEqual({ confirm: true, type: word, code: false, undo: false });
  expect(of("low", "code")).toEqual({ confirm: true, type: null, code: true, undo: false });
});

test("a no needs no typing, and no proof of what was seen", () => {
  const critical = record({ risk: "critical", needs, tool: "rm", view });
  expect(frictionOf(critical, "deny").type).toBe(null);
  expect(decisionOn(critical, "deny")).toEqual({ decision: "deny", digest: "d", version: 1 });
});

test("a yes carries the digest of the card, or of the display of a server without cards", () => {
  const display = { digest: "shown", fields: [] };
  expect(decisionOn(record({ view, display }), "approve")).toMatchObject({ view: "d" });
  expect(decisionOn(record({ view, display }), "approve").display).toBe(undefined);
  expect(decisionOn(record({ display }), "approve").display).toBe("shown");
});

test("another card is another view of the same request", () => {
  expect(viewKey(record({ view }))).not.toBe(viewKey(record({ view: { ...view, digest: "e" } })));
});

test("what was jumped over does not count as seen", () => {
  expect(cover(0, 0, 500)).toBe(500);
  expect(cover(500, 400, 900)).toBe(900);
  expect(cover(500, 2000, 2500)).toBe(500);
  expect(cover(500, 0, 300)).toBe(500);
});

test("a key that reads like a place in a list is told from one", () => {
  expect(placeOf({ pointer: "/arguments/a/0", text: "" }, "/arguments")).toBe("a/0");
  expect(placeOf({ pointer: "/arguments/a/0", text: "", keys: [2] }, "/arguments")).toBe('a/"0"');
  expect(placeOf({ pointer: "/arguments", text: "{}" }, "/arguments")).toBe("arguments");
  expect(placeOf({ pointer: "/argumentsx", text: "" }, "/arguments")).toBe("argumentsx");
});

test("a plan is decided step by step, in the order given", () => {
  const steps = ["a", "b", "c"].map((id) => ({ id, action: id, description: "" }));
  const draft = draftOf(steps);
  expect(unchanged(steps, draft)).toBe(true);
  expect(decisionsOf(toHere(draft, "b"))).toEqual([
    { id: "a", decision: "approve" },
    { id: "b", decision: "approve" },
    { id: "c", decision: "deny" },
  ]);
  expect(shift(draft, "c", -1).map((step) => step.id)).toEqual(["a", "c", "b"]);
  expect(shift(draft, "a", -1).map((step) => step.id)).toEqual(["a", "b", "c"]);
  const edited = update(draft, "b", { arguments: { x: 1 } });
  expect(decisionsOf(edited)[1]).toEqual({ id: "b", decision: "edit", arguments: { x: 1 } });
  expect(unchanged(steps, edited)).toBe(false);
  expect(unchanged(steps, shift(draft, "c", -1))).toBe(false);
});

test("form fields follow the schema, and values that do not fit it are shown raw", () => {
  const schema = {
    properties: {
      to: { type: "string", description: "payee" },
      count: { type: "integer" },
      mode: { enum: ["fast", "slow"] },
      odd: { type: "string" },
    },
    required: ["to"],
  };
  const fields = formFields(schema, { to: "x", mode: "fast", odd: 5, extra: [1], flag: true, text: "a\nb" });
  expect(Object.fromEntries(fields.map((field) => [field.name, field.kind]))).toEqual({
    to: "text",
    count: "integer",
    mode: "choice",
    odd: "json",
    extra: "json",
    flag: "boolean",
    text: "long",
  });
  expect(fields[0]).toMatchObject({ required: true, hint: "payee" });
  expect(formFields(true, { a: 1 })[0]?.kind).toBe("number");
});

test("numbers are taken only when they mean what was typed", () => {
  expect(numberFrom("12", true)).toBe(12);
  expect(numberFrom(" 1.5 ", false)).toBe(1.5);
  expect(numberFrom("1.5", true)).toBe(null);
  expect(numberFrom("9007199254740993", false)).toBe(null);
  for (const bad of ["", "0x10", "1e999", "1,5", "abc", "--1"])
    expect(numberFrom(bad, false), bad).toBe(null);
});

test("seats are filled in order, and one free seat for anyone is simple", () => {
  const two: Needs = {
    any: [
      {
        all: [
          { people: 1, team: "finance" },
          { people: 1, team: "board" },
        ],
      },
    ],
    four_eyes: false,
    step_up: null,
  };
  expect(seatsOf(two, ["ann"])).toEqual([
    [
      { team: "finance", by: "ann" },
      { team: "board", by: null },
    ],
  ]);
  expect(simple(needs)).toBe(true);
  expect(simple(two)).toBe(false);
});

test("a step that is dragged lands after every step whose middle is above it", () => {
  const draft = draftOf(["a", "b", "c"].map((id) => ({ id, action: id, description: "" })));
  const boxes = [
    { id: "a", top: 0, height: 100 },
    { id: "b", top: 110, height: 300 },
    { id: "c", top: 420, height: 50 },
  ];
  const after = (id: string, y: number) => place(draft, id, landing(boxes, id, y)).map((step) => step.id);
  expect(after("a", 20)).toEqual(["a", "b", "c"]);
  expect(after("a", 259)).toEqual(["a", "b", "c"]);
  expect(after("a", 261)).toEqual(["b", "a", "c"]);
  expect(after("a", 9999)).toEqual(["b", "c", "a"]);
  expect(after("c", -50)).toEqual(["c", "a", "b"]);
  expect(after("b", 40)).toEqual(["b", "a", "c"]);
  expect(after("b", 130)).toEqual(["a", "b", "c"]);
});
