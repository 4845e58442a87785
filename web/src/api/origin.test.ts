import { describe, expect, it } from "vitest";
import { cardsOf } from "@/pages/queue/cards";
import { hooked, proxied, viaOf } from "@/pages/queue/pause";
import { door, record, row } from "./fixtures";
import { originOf } from "./origin";
import { toRow } from "./queue";

const SOURCES = [null, "rest", "community", "events", "a2a-x", "hook", "hook-program", "a2a", "a2a/demo/ops"];

describe("a server of an older version, which names the door alone", () => {
  it("gets the same page as one that says what the door is", () => {
    for (const source of SOURCES) {
      const old = record({ source });
      const now = record(door(source));
      expect([viaOf(old), proxied(old), hooked(old)], source ?? "").toEqual([
        viaOf(now),
        proxied(now),
        hooked(now),
      ]);
      expect(originOf(old)?.paths ?? false, source ?? "").toBe(source === "hook-program");
      expect(toRow(old).origin).toEqual(originOf(now));
    }
  });

  it("has its calls of one turn parted where nothing waited any more", () => {
    const call = (id: string, created_at: string, decided_at: string) =>
      row(id, { source: "hook", group: "turn", state: "approved", created_at, decided_at });
    const first = call("a", "2026-11-15T10:00:00Z", "2026-11-15T10:01:00Z");
    const second = call("b", "2026-11-15T10:05:00Z", "2026-11-15T10:06:00Z");
    expect(cardsOf([first, second]).size).toBe(0);
    expect(cardsOf([first, second].map((one) => ({ ...one, source: null }))).size).toBe(2);
  });
});

describe("a server that says what the door is", () => {
  it("is believed, whatever the name of the door", () => {
    const origin = { agent: "demo/ops", desk: false, turn: true, paths: false };
    expect(originOf({ source: "a2a", origin })).toBe(origin);
    expect(viaOf({ source: "a2a", origin })).toBe("demo/ops");
  });
});
