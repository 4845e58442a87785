import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  ConfigError,
  Denied,
  gate,
  type JsonObject,
  NotJson,
  type Placet,
  Session,
  session,
} from "../../src/index.js";
import { approve, deny, Gateway } from "../../src/testing/index.js";
import { type Reviewer, Server } from "../support/server.js";

let server: Server;
let ann: Reviewer;
let client: Placet;
let ran: unknown[][] = [];

beforeAll(async () => {
  server = await Server.start();
  ann = await server.reviewer();
  client = server.agent();
});
afterAll(() => server.stop());
beforeEach(() => {
  ran = [];
});

const of = (tool: string) => (record: { tool?: string | null }) => record.tool === tool;
const named = async (args: { path: string; force?: boolean }) => {
  ran.push([args]);
  return `removed ${args.path}`;
};
const positional = (from: string, to: string, times = 1) => {
  ran.push([from, to, times]);
  return ran.length;
};

test("a function of one object runs with what was approved", async () => {
  const removing = client.gate(named, { tool: "g.named" })({ path: "a" });
  await ann.approve(of("g.named"));
  expect(await removing).toBe("removed a");
  const edited = gate(named, { tool: "g.named", client })({ path: "a" });
  await ann.edit({ path: "b", force: true }, of("g.named"));
  expect(await edited).toBe("removed b");
  expect(ran).toEqual([[{ path: "a" }], [{ path: "b", force: true }]]);
});

test("positional arguments have names for the reviewer and stay positional for the function", async () => {
  const copy = gate(positional, { client, params: ["from", "to", "times"] });
  expect(copy.name).toBe("positional");
  const copying = copy("a", "b");
  const record = await ann.pending(of("positional"));
  expect(record.arguments).toEqual({ from: "a", to: "b" });
  await ann.edit({ from: "a", to: "c", times: 3 }, record.id);
  await copying;
  expect(ran).toEqual([["a", "c", 3]]);
});

test("an edit that invents an argument is not run", async () => {
  const copying = gate(positional, { tool: "g.invent", client, params: ["from", "to", "times"] })("a", "b");
  await ann.edit({ from: "a", to: "b", sudo: true }, of("g.invent"));
  expect(await copying).toMatchObject({ status: "failed", reason: expect.stringContaining("/sudo") });
  expect(ran).toEqual([]);
});

test("an edit is checked by the server when there is a schema, and refused to the reviewer", async () => {
  const argumentsSchema = {
    type: "object",
    required: ["path"],
    properties: { path: { type: "string" }, force: { type: "boolean" } },
    additionalProperties: false,
  };
  const removing = gate(named, { tool: "g.schema", client, argumentsSchema })({ path: "a" });
  const { id } = await ann.pending(of("g.schema"));
  await expect(ann.edit({ path: 7 }, id)).rejects.toMatchObject({ status: 422 });
  await ann.edit({ path: "b" }, id);
  expect(await removing).toBe("removed b");
});

test.each<[string, object]>([
  ["a schema of zod's shape", { parse: (args: JsonObject) => typeof args.path === "string" || fail() }],
  [
    "a standard schema",
    {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: async (args: JsonObject) =>
          typeof args.path === "string"
            ? { value: args }
            : { issues: [{ message: "must be text", path: ["path"] }] },
      },
    },
  ],
  ["a JSON schema", { type: "object", properties: { path: { type: "string" } } }],
])("an edit that does not fit %s is not run", async (name, check) => {
  const tool = `g.${name.replaceAll(/[^a-z]/gi, "")}`;
  const gated = gate(named, { tool, client, check: check as never });
  const bad = gated({ path: "a" });
  await ann.edit({ path: 7 }, of(tool));
  expect(await bad).toMatchObject({ status: "failed", reason: expect.stringMatching(/path|text|fit/) });
  const good = gated({ path: "a" });
  await ann.edit({ path: "b" }, of(tool));
  expect(await good).toBe("removed b");
  expect(ran).toEqual([[{ path: "b" }]]);
});
function fail(): never {
  throw new Error("path must be text");
}

test("a denied function does not run, and tells the model or throws", async () => {
  const gateway = new Gateway({ decide: () => deny("no") });
  expect(await gate(named, { client: gateway.client() })({ path: "a" })).toMatchObject({
    status: "denied",
    tool: "named",
    reason: "no",
  });
  const raising = gate(named, { client: gateway.client(), onDenied: "raise" })({ path: "a" });
  await expect(raising).rejects.toThrow(Denied);
  expect(ran).toEqual([]);
});

describe("what cannot be shown to a person is not asked for, and does not run", () => {
  class Secret {
    path = "a";
  }
  const cyclic: { [key: string]: unknown } = {};
  cyclic.self = cyclic;
  const sneaky = {
    get path() {
      return "a";
    },
  };
  test.each<[string, unknown, string]>([
    ["a date", { when: new Date(0) }, "/when: an object of class Date is not JSON: pass date.toISOString()"],
    ["a bigint", { n: 1n }, "/n: a bigint is not JSON: pass it as a string"],
    ["a map", { m: new Map() }, "/m: an object of class Map is not JSON"],
    ["bytes", { b: new Uint8Array(3) }, "/b: an object of class Uint8Array is not JSON"],
    ["a class", new Secret(), "the value: an object of class Secret is not JSON"],
    ["a function", { f: () => 1 }, "/f: a function is not JSON"],
    ["undefined in a list", { list: [1, undefined] }, "/list/1: undefined is not JSON"],
    ["not a number", { n: Number.NaN }, "/n: NaN is not JSON"],
    ["a large integer", { n: 2 ** 53 }, "/n: integers beyond"],
    ["half a character", { t: "\ud800" }, "/t: half of a surrogate pair"],
    ["a cycle", cyclic, "or an object that contains itself"],
    ["a getter", sneaky, "/path: a getter is not JSON"],
    ["a symbol", { [Symbol("s")]: 1 }, "named by a symbol"],
    ["a nested class", { "a/b": { c: new Secret() } }, "/a~1b/c: an object of class Secret"],
  ])("%s", async (_, args, message) => {
    const gateway = new Gateway({ decide: approve });
    const gated = gate(named as (args: unknown) => unknown, { client: gateway.client() });
    const running = gated(args);
    await expect(running).rejects.toThrow(NotJson);
    await expect(running).rejects.toThrow(message);
    expect(gateway.requests).toEqual([]);
    expect(ran).toEqual([]);
  });
  test("positional arguments without names", async () => {
    const gateway = new Gateway({ decide: approve });
    await expect(gate(positional, { client: gateway.client() })("a", "b")).rejects.toThrow("give `params`");
    const params = ["from"];
    await expect(gate(positional, { client: gateway.client(), params })("a", "b")).rejects.toThrow("names 1");
    expect(ran).toEqual([]);
  });
});

test("what is not given is not sent", async () => {
  const gateway = new Gateway({ decide: approve });
  await gate(named, { client: gateway.client() })({ path: "a", force: undefined });
  expect(gateway.requests[0]?.arguments).toEqual({ path: "a" });
});

test("a function with arguments that are not JSON runs with them when `describe` says what they are", async () => {
  const gateway = new Gateway({ decide: approve });
  const send = gate((to: URL, body: Uint8Array) => ran.push([to, body]), {
    tool: "send",
    client: gateway.client(),
    describe: (to, body) => ({ to: to.href, bytes: body.length }),
  });
  const body = new Uint8Array(3);
  await send(new URL("http://example.com/"), body);
  expect(gateway.requests[0]).toMatchObject({
    arguments: { to: "http://example.com/", bytes: 3 },
    allowed: ["approve", "deny"],
  });
  expect(ran).toEqual([[new URL("http://example.com/"), body]]);
});

test("a method keeps its object", async () => {
  const gateway = new Gateway({ decide: approve });
  class Store {
    prefix = "/srv/";
    remove = gate(
      function (this: Store, args: { path: string }) {
        return this.prefix + args.path;
      },
      { tool: "remove", client: gateway.client() },
    );
  }
  expect(await new Store().remove({ path: "a" })).toBe("/srv/a");
});

test("a gated function inside a gated function asks for itself", async () => {
  const gateway = new Gateway({
    decide: (record) => (record.tool === "inner" ? deny("not the inner one") : approve()),
  });
  const inner = gate(named, { tool: "inner", client: gateway.client() });
  const outer = gate((args: { path: string }) => inner(args), { tool: "outer", client: gateway.client() });
  expect(await outer({ path: "a" })).toMatchObject({ status: "denied", tool: "inner" });
  expect(gateway.requests.map((each) => [each.tool, each.state])).toEqual([
    ["outer", "succeeded"],
    ["inner", "denied"],
  ]);
  expect(ran).toEqual([]);
});

test("without a client and without a key nothing runs", async () => {
  vi.stubEnv("PLACET_TOKEN", "");
  await expect(gate(named)({ path: "a" })).rejects.toThrow(ConfigError);
  vi.unstubAllEnvs();
  expect(ran).toEqual([]);
  expect(() => gate(() => 1)).toThrow("pass `tool`");
});

test("a session gives the client, the session and where it comes from, across awaits and at the same time", async () => {
  const gateways = [new Gateway({ decide: approve }), new Gateway({ decide: approve })];
  const gated = gate(named);
  await Promise.all(
    gateways.map((gateway, n) =>
      session(
        { id: `s${n}`, app: "shop", user: `u${n}`, lineage: ["planner"], client: gateway.client() },
        async () => {
          await new Promise((done) => setTimeout(done, 10));
          await gated({ path: `p${n}` });
        },
      ),
    ),
  );
  for (const [n, gateway] of gateways.entries()) {
    expect(gateway.requests).toMatchObject([
      {
        session: `s${n}`,
        arguments: { path: `p${n}` },
        context: { app: "shop", user: `u${n}`, lineage: ["planner"] },
      },
    ]);
  }
  expect(() => new Session({ id: "" })).toThrow(ConfigError);
  expect(() => new Session({ id: "s", usr: "ann" } as never)).toThrow('no option "usr"');
  expect(() => new Session({ id: "ü".repeat(101) })).toThrow("1 to 200 bytes");
});

test("without a session around it, a call can be given one", async () => {
  const gateway = new Gateway({ decide: approve });
  await gate(named, { client: gateway.client(), in: new Session({ id: "explicit" }) })({ path: "a" });
  expect(gateway.requests[0]?.session).toBe("explicit");
});

test("an approval for one user never runs for another with a session of the same name", async () => {
  const call = { tool: "named", arguments: { path: "mine" } };
  const leave = { holdFor: 20, then: "leave" as const };
  const held = (parts: object) =>
    client.hold(call, { in: new Session({ id: "shared", ...parts }), ...leave });
  const alice = await held({ user: "alice", app: "shop" });
  await ann.decide("approve", alice.requestId as string);
  const others = [
    { user: "mallory", app: "shop" },
    { app: "shop" },
    { user: "alice" },
    { user: "alice", app: "shop", tenant: "t" },
    { user: "alice", app: "shop", turn: "2" },
  ];
  for (const parts of others) {
    const other = await held(parts);
    expect([parts, other.status, other.requestId === alice.requestId]).toEqual([parts, "pending", false]);
  }
  // Nor where the call itself says whose it is, and a key of its own would find the request.
  const keys = { weak: "w2:shared" };
  const mine = await client.hold({ ...call, keys, session: "shared", context: { user: "alice" } }, leave);
  await ann.decide("approve", mine.requestId as string);
  const theirs = await client.hold({ ...call, keys, session: "shared", context: { user: "mallory" } }, leave);
  expect([theirs.status, theirs.requestId === mine.requestId]).toEqual(["pending", false]);
  expect((await held({ user: "alice", app: "shop" })).go).toBe(true);
});

test("two messages of one session that are worked on at once are two", async () => {
  const gateway = new Gateway();
  const call = { tool: "named", arguments: { path: "a" } };
  const work = () =>
    session({ id: "s" }, () => gateway.client().hold(call, { holdFor: 20, then: "leave" as const }));
  const [one, two] = await Promise.all([work(), work()]);
  expect(one.requestId).not.toBe(two.requestId);
  expect((await work()).requestId).toBe(one.requestId);
});

describe("two equal calls in one session", () => {
  test("are two requests", async () => {
    const gateway = new Gateway({ decide: approve });
    const gated = gate(named, { client: gateway.client(), in: new Session({ id: "s" }) });
    await gated({ path: "a" });
    await gated({ path: "a" });
    expect(gateway.requests).toHaveLength(2);
  });
  test("find their own requests again after a restart, one each", async () => {
    const gateway = new Gateway();
    const leave = { holdFor: 20, then: "leave" as const };
    const life = async (options: object) => {
      // A new session object is what a restarted process has: the same name, and nothing counted.
      const around = new Session({ id: "s", app: "shop", agent: "clerk" });
      const placet = gateway.client();
      const call = { tool: "named", arguments: { path: "a" } };
      return Promise.all([1, 2].map(() => placet.hold(call, { in: around, ...options })));
    };
    const before = await life(leave);
    expect(gateway.requests).toHaveLength(2);
    for (const { requestId } of before) await gateway.decide(requestId as string, approve());
    const after = await life({});
    expect(after.map((each) => each.go)).toEqual([true, true]);
    expect(after.map((each) => each.requestId).sort()).toEqual(before.map((each) => each.requestId).sort());
    expect(gateway.requests).toHaveLength(2);
    // Used approvals are not found again: a third life asks anew.
    expect((await life(leave)).map((each) => each.status)).toEqual(["pending", "pending"]);
    expect(gateway.requests).toHaveLength(4);
  });
  test("are never attached to a session that nobody named", async () => {
    const gateway = new Gateway();
    const call = { tool: "named", arguments: { path: "a" } };
    for (const placet of [gateway.client(), gateway.client()]) {
      await placet.hold(call, { holdFor: 20, then: "leave" });
    }
    expect(gateway.requests).toHaveLength(2);
  });
});
