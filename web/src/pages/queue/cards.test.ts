import { describe, expect, it } from "vitest";
import type { Row } from "@/api/extra";
import { door, row } from "@/api/fixtures";
import { cardsOf } from "./cards";
import { arrange, first, move } from "./model";

const at = (second: number) => `2026-11-15T10:00:0${second}Z`;
const hook = (id: string, from: number, more: Partial<Row> = {}) =>
  row(id, { group: "g", ...door("hook-program"), created_at: at(from), ...more });
const decided = (second: number): Partial<Row> => ({ state: "approved", decided_at: at(second) });
const cards = (rows: Row[]) => Object.fromEntries(cardsOf(rows));

describe("a card", () => {
  it("is what one agent asked for at once", () => {
    expect(cards([hook("b", 1), hook("a", 1), hook("c", 2)])).toEqual({
      a: "pause:a",
      b: "pause:a",
      c: "pause:a",
    });
  });

  it("ends where nothing of it waited any more when the next was asked", () => {
    const rows = [hook("a", 1, decided(3)), hook("b", 2, decided(4)), hook("c", 5), hook("d", 6)];
    expect(cards(rows)).toEqual({ a: "pause:a", b: "pause:a", c: "pause:c", d: "pause:c" });
    expect(cards([hook("a", 1, decided(2)), hook("b", 3)])).toEqual({});
  });

  it("is never shared with another agent, session, door or group, nor with what has no group", () => {
    const rows = [
      hook("a", 1),
      hook("b", 1, { agent: "mallory" }),
      hook("c", 1, { session: "s2" }),
      hook("d", 1, door(null)),
      hook("e", 1, { group: "h" }),
      hook("f", 1, { group: null }),
      hook("g", 1, { group: null }),
    ];
    expect(cards(rows)).toEqual({});
  });

  it("of a pause that is no hook's holds all of its items, decided ones too", () => {
    const rows = [row("a", { group: "g", ...decided(1) }), row("b", { group: "g", created_at: at(5) })];
    expect(cards(rows)).toEqual({ a: "pause:a", b: "pause:a" });
  });
});

describe("the list", () => {
  const rows = [row("x"), hook("a", 1), row("y"), hook("b", 1, { risk: "high" })];

  it("has a card where its first row is, each item under it", () => {
    const items = arrange(rows, "none", new Set());
    expect(items.map((item) => item.key)).toEqual(["x", "pause:a", "a", "b", "y"]);
    expect(items[1]).toMatchObject({ by: "pause", pending: 2, risk: "high", label: "bot" });
    expect(items.map((item) => item.type === "row" && item.carded)).toEqual([
      false,
      false,
      true,
      true,
      false,
    ]);
    expect(first(items)).toBe("x");
    expect(move(items, "x", 1)).toBe("a");
  });

  it("shows a folded card as its head alone", () => {
    const items = arrange(rows, "none", new Set(["pause:a"]));
    expect(items.map((item) => item.key)).toEqual(["x", "pause:a", "y"]);
  });

  it("has no cards where it is grouped by something else", () => {
    const items = arrange(rows, "session", new Set());
    expect(items.filter((item) => item.type === "group").map((item) => item.key)).toEqual([
      "session:bot\ns1",
    ]);
  });
});
