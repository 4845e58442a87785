import { describe, expect, it } from "vitest";
import type { DisplayField } from "@/api/extra";
import { door, record, row } from "@/api/fixtures";
import { flagsOf } from "./flags";
import { lineageOf, lostOf, noted, pauseOf, viaOf } from "./pause";

const PROXIED = "a2a/demo/ops";

/** A record whose context is drawn like this. */
function drawn(source: string | null, fields: Record<string, string>) {
  const all: DisplayField[] = Object.entries(fields).map(([name, text]) => ({
    pointer: `/context/${name}`,
    text,
  }));
  return record({ ...door(source), display: { digest: "d", fields: all } });
}

const a2a = {
  "a2a/namespace": '"demo"',
  "a2a/agent": '"ops"',
  "a2a/context": '"c\\u{202e}1"',
  "a2a/task": '"t1"',
  "a2a/dialect": '"hitl"',
  "a2a/item": "1",
  "a2a/items": "3",
  "a2a/id": "null",
};

describe("where a request comes from over A2A", () => {
  it("is what the server says of the door, never what an agent wrote into its context", () => {
    expect(viaOf(door(PROXIED))).toBe("demo/ops");
    expect(viaOf(door("a2a"))).toBe("placet/desk");
    for (const other of [{}, door(null), door("hook")]) expect(viaOf(other)).toBeNull();
    expect(lineageOf(drawn(null, a2a))).toBeNull();
  });

  it("is shown as the server drew it", () => {
    expect(lineageOf(drawn(PROXIED, a2a))).toEqual({
      via: "demo/ops",
      conversation: "c\\u{202e}1",
      task: "t1",
      dialect: "hitl",
      id: null,
      item: 2,
      items: 3,
    });
  });

  it("leaves out what is missing or makes no sense", () => {
    const odd = lineageOf(drawn(PROXIED, { "a2a/item": "-1", "a2a/items": '"3"' }));
    expect(odd).toMatchObject({ via: "demo/ops", task: null, item: null, items: null });
    expect(lineageOf(record(door("a2a")))).toMatchObject({ via: "placet/desk", task: null });
  });
});

describe("warnings", () => {
  const written = { "warnings/0": '"a number of 2^53 or more"', "warnings/0/x": '"no"' };

  it("of the proxy stand beside those of the server", () => {
    const flagged = [{ pointer: "/arguments/a", why: "long" }];
    const view = { sentence: "", digest: "d", sections: [], rest: [], flagged, hidden: 0 };
    expect(flagsOf(drawn(PROXIED, written), view)).toEqual([
      { pointer: "/arguments/a", why: "long" },
      { pointer: "/context/warnings/0", why: "a number of 2^53 or more" },
    ]);
  });

  it("do not repeat why policy held the request as a whole, and keep what it says of a value", () => {
    const flagged = [
      { pointer: "", why: "cannot be taken back" },
      { pointer: "/arguments/a", why: "cannot be taken back" },
    ];
    const verdict = { effect: "hold" as const, rule: "r", policy: "p", reasons: ["cannot be taken back"] };
    const view = { sentence: "", digest: "d", sections: [], rest: [], flagged, hidden: 0 };
    expect(flagsOf(record({ verdict }), view)).toEqual([flagged[1]]);
  });

  it("that an agent wrote itself are not Placet's", () => {
    for (const source of [null, "a2a", "hook"]) expect(noted(drawn(source, written))).toEqual([]);
  });
});

describe("a lost upstream", () => {
  const failed = (source: string | null, note: string | null, state: "failed" | "succeeded" = "failed") =>
    record({
      ...door(source),
      state,
      outcome: { status: state, result_digest: null, note, at: "", resolved_by: null },
    });

  it("is told from a tool that failed", () => {
    expect(lostOf(failed(PROXIED, "demo/ops: upstream_lost: it is gone"))).toBe("it is gone");
    expect(lostOf(failed(PROXIED, "demo/ops: the disk is full, upstream_lost: no"))).toBeNull();
    expect(lostOf(failed(PROXIED, null))).toBeNull();
  });

  it("is only what Placet reports of an agent behind it", () => {
    expect(lostOf(failed(null, "demo/ops: upstream_lost: it is gone"))).toBeNull();
    expect(lostOf(failed(null, "null: upstream_lost: it is gone"))).toBeNull();
    expect(lostOf(failed("a2a", "placet/desk: upstream_lost: it is gone"))).toBeNull();
    expect(lostOf(failed("a2a/demo/other", "demo/ops: upstream_lost: it is gone"))).toBeNull();
    expect(lostOf(failed(PROXIED, "demo/ops: upstream_lost: it is gone", "succeeded"))).toBeNull();
  });
});

describe("the items of a pause", () => {
  const item = (id: string, more = {}) => row(id, { group: "g", ...door(PROXIED), ...more });

  it("are in the order in which they were asked, decided ones too", () => {
    const at = (fraction: string) => ({ created_at: `2026-11-15T10:00:00${fraction}Z` });
    const listed = [
      item("req_1", at(".0004")),
      item("req_3", { ...at(""), state: "denied" }),
      item("req_2", at(".000123")),
      item("req_4", at(".0004")),
    ];
    expect(pauseOf("req_2", listed).map((one) => one.id)).toEqual(["req_3", "req_2", "req_1", "req_4"]);
  });

  it("are not what others put under the same name", () => {
    const listed = [
      item("req_1"),
      item("req_2", { agent: "mallory" }),
      item("req_3", door(null)),
      item("req_4", door("a2a/demo/other")),
      item("req_5", { group: "h" }),
      item("req_7", { session: "s2" }),
      item("req_6"),
    ];
    expect(pauseOf("req_1", listed).map((one) => one.id)).toEqual(["req_1", "req_6"]);
    expect(pauseOf("req_3", listed).map((one) => one.id)).toEqual(["req_3"]);
  });

  it("follow the queue where it knows more, and never go back", () => {
    const listed = [item("req_1", { version: 2, state: "denied" }), item("req_2")];
    const queue = [
      item("req_1", { version: 1 }),
      item("req_2", { version: 2, state: "approved" }),
      item("req_3"),
    ];
    expect(pauseOf("req_1", listed, queue).map((one) => one.state)).toEqual([
      "denied",
      "approved",
      "pending",
    ]);
  });

  it("are none without a group, or before the list is there", () => {
    expect(pauseOf("req_1", [row("req_1")], [row("req_2")])).toEqual([]);
    expect(pauseOf("req_1", [], [item("req_1")])).toEqual([]);
  });

  it("of a hook are what waited at the same time, not all of the turn", () => {
    const hook = (id: string, from: number, to: number | null, more = {}) =>
      item(id, {
        ...door("hook-program"),
        created_at: `2026-11-15T10:00:0${from}Z`,
        ...(to === null ? {} : { state: "approved", decided_at: `2026-11-15T10:00:0${to}Z` }),
        ...more,
      });
    const listed = [
      hook("req_1", 0, 1),
      hook("req_2", 2, 5),
      hook("req_3", 3, null),
      hook("req_4", 4, null),
      hook("req_5", 6, null),
      hook("req_6", 2, null, { state: "cancelled" }),
    ];
    const together = (id: string) => pauseOf(id, listed).map((one) => one.id);
    expect(together("req_3")).toEqual(["req_2", "req_3", "req_4", "req_5"]);
    expect(together("req_2")).toEqual(["req_2", "req_6", "req_3", "req_4"]);
    expect(together("req_1")).toEqual(["req_1"]);
  });
});
