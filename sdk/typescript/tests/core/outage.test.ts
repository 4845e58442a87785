import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import {
  ConfigError,
  type Json,
  type JsonObject,
  Placet,
  type PlacetOptions,
  Problem,
  ProtocolError,
  Unreachable,
} from "../../src/index.js";
import { BadProxy } from "../support/proxy.js";
import { BOUND, Effects, nowhere, type Reviewer, Server } from "../support/server.js";

/** SHA-256 of `{"a":[true],"b":1}`. */
const DIGEST = "sha256:708747538ba81fd60b5aac8c646370de5e24abf70ab1872f67458a5a4f3af05d";

let server: Server;
let ann: Reviewer;
let proxy: BadProxy;
let tools = 0;
let tool = "";
let effects: Effects;

beforeAll(async () => {
  server = await Server.start();
  ann = await server.reviewer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  proxy = await BadProxy.start(server.url);
  tools += 1;
  tool = `t${tools}`;
  effects = new Effects();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await proxy.stop();
});

const call = (more: object = {}) => ({ tool, arguments: { n: 1 }, session: "s1", ...more });
const mine = (record: { tool?: string | null }) => record.tool === tool;
const agent = (options: PlacetOptions = {}) =>
  server.agent({ url: proxy.url, outageBudget: "5s", ...options });
const onRecord = async () => (await ann.client.list({ tool })).items;
const rewritten = (change: (body: JsonObject) => void) => (text: string) => {
  const body = JSON.parse(text) as JsonObject;
  change(body);
  return JSON.stringify(body);
};

test("without a server nothing runs, and the model is told that nobody said no", async () => {
  const { url, close } = await nowhere();
  const placet = new Placet({ url, token: "plk_agent_x", outageBudget: 300 });
  const result = await placet.run(call(), effects.run);
  expect(result).toMatchObject({ status: "unreachable", request: null });
  expect(result).toHaveProperty("message", expect.stringContaining("nobody said no, and nothing was run"));
  await expect(placet.run(call(), effects.run, { onOutage: "raise" })).rejects.toThrow(Unreachable);
  await expect(placet.run(call(), effects.run, { onDenied: "raise" })).rejects.toThrow(Unreachable);
  expect(effects.count).toBe(0);
  close();
});

test("a budget that is spent by the first failure ends the call with it", async () => {
  const { url, close } = await nowhere();
  let tries = 0;
  const counting: typeof fetch = (target, init) => {
    tries += 1;
    return fetch(target, init);
  };
  const placet = new Placet({ url, token: "plk_agent_x", outageBudget: 0, fetch: counting });
  expect(await placet.run(call(), effects.run)).toMatchObject({ status: "unreachable", request: null });
  expect(tries).toBe(1);
  close();
});

test("an outage is denied, raised or waited out, and no other word is accepted", async () => {
  const options = { url: server.url, token: "plk_agent_x" };
  expect(() => new Placet({ ...options, onOutage: "allow" as never })).toThrow(ConfigError);
  const running = server.agent().run(call(), effects.run, { onOutage: "allow" as never });
  await expect(running).rejects.toThrow('onOutage must be "deny", "raise" or "pause"');
  expect(effects.count).toBe(0);
});

test("what cannot work is said when the client is made", () => {
  vi.stubEnv("PLACET_TOKEN", "");
  vi.stubEnv("PLACET_URL", "");
  expect(() => new Placet()).toThrow("set PLACET_TOKEN");
  expect(() => new Placet({ token: "two\nlines" })).toThrow(ConfigError);
  for (const url of ["localhost:4000", "ftp://x", "http://", "http://u:p@x", "http://x/?a=1", ""]) {
    if (url === "") continue;
    expect(() => new Placet({ url, token: "k" }), url).toThrow(ConfigError);
  }
  expect(new Placet({ token: "k" }).url).toBe("http://127.0.0.1:4000");
  vi.stubEnv("PLACET_URL", "https://placet.example/base/");
  vi.stubEnv("PLACET_TOKEN", "k");
  expect(new Placet().url).toBe("https://placet.example/base");
  vi.unstubAllEnvs();
});

test("a wrong key is an error at once, and so is the key of a reviewer", async () => {
  await expect(agent({ token: "plk_agent_wrong" }).run(call(), effects.run)).rejects.toThrow(ConfigError);
  const token = await server.key("reviewer", "ann");
  await expect(agent({ token }).run(call(), effects.run)).rejects.toMatchObject({
    status: 403,
    code: "forbidden",
  });
  // Neither was tried a second time.
  expect(proxy.calls).toEqual(["POST /v1/requests", "POST /v1/requests"]);
  expect(effects.count).toBe(0);
});

test("a key that is revoked while its agent waits ends the wait without a run", async () => {
  const token = await server.key("agent", "leaver");
  const running = agent({ token }).run(call(), effects.run);
  const ended = expect(running).rejects.toThrow(ConfigError);
  await ann.pending(mine);
  await server.revoke("leaver");
  await ended;
  expect(effects.count).toBe(0);
  expect((await onRecord())[0]?.state).toBe("cancelled");
});

test("a proxy that answers pages is never a yes, and the error names the address and what came", async () => {
  proxy.rule = () => ({ status: 200, body: "<html>Welcome to the coffee bar</html>" });
  const placet = agent({ outageBudget: 200 });
  const result = await placet.run(call(), effects.run);
  expect(result).toMatchObject({ status: "unreachable" });
  expect(result).toHaveProperty(
    "reason",
    expect.stringMatching(/127\.0\.0\.1.*200 \(text\/html\).*coffee bar/),
  );
  await expect(placet.get("req_x")).rejects.toThrow(ProtocolError);
  proxy.rule = () => ({ status: 404, body: "<html>nginx</html>" });
  const before = proxy.calls.length;
  await expect(agent().run(call(), effects.run)).rejects.toThrow(ProtocolError);
  expect(proxy.calls.length).toBe(before + 1);
  expect(effects.count).toBe(0);
});

test("a redirect is not followed: it would carry the key elsewhere", async () => {
  const other = await BadProxy.start(server.url);
  proxy.rule = () => ({ status: 307, headers: { location: `${other.url}/v1/requests` } });
  expect(await agent({ outageBudget: 100 }).run(call(), effects.run)).toMatchObject({
    status: "unreachable",
  });
  expect(other.calls).toEqual([]);
  expect(effects.count).toBe(0);
  await other.stop();
});

test("a server of another version is named as such", async () => {
  proxy.rule = () => ({ status: 201, type: "application/json", body: '{"approved":true}' });
  await expect(agent().run(call(), effects.run)).rejects.toThrow(/something that is not a request/);
  expect(effects.count).toBe(0);
});

test("an answer that takes too long is asked for again, and makes one request", async () => {
  proxy.rule = (_, count) => (count === 0 ? "hang" : undefined);
  const running = agent({ timeout: "1s", outageBudget: "1m" }).run(call(), effects.run);
  await ann.approve(mine);
  expect(await running).toEqual({ ran: 1 });
  expect(await onRecord()).toHaveLength(1);
});

test.each(["POST /v1/requests", "POST /v1/requests/*/claim", "POST /v1/requests/*/outcome"])(
  "a lost answer to %s is asked for again, and the call runs once",
  async (lossy) => {
    proxy.rule = (each, count) => (each === lossy && count < 2 ? "lose" : undefined);
    const running = agent().run(call(), effects.run);
    await ann.approve(mine);
    expect(await running).toEqual({ ran: 1 });
    expect(proxy.count(lossy)).toBe(3);
    expect(await onRecord()).toMatchObject([{ state: "succeeded" }]);
  },
);

test("a lost answer to a create that was allowed at once does not lose the permit", async () => {
  tool = `free.${tool}`;
  proxy.rule = (each, count) => (each === "POST /v1/requests" && count === 0 ? "lose" : undefined);
  expect(await agent().run(call(), effects.run)).toEqual({ ran: 1 });
  expect(await onRecord()).toMatchObject([{ state: "succeeded" }]);
});

test("a busy server is left alone for as long as it asks", async () => {
  const busy = {
    status: 503,
    type: "application/problem+json",
    body: '{"code":"busy","detail":"busy","status":503}',
  };
  proxy.rule = (each, count) =>
    each === "POST /v1/requests" && count === 0 ? { ...busy, headers: { "retry-after": "1" } } : undefined;
  tool = `free.${tool}`;
  const pauses = vi.spyOn(globalThis, "setTimeout");
  expect(await agent({ timeout: "1m" }).run(call(), effects.run)).toEqual({ ran: 1 });
  // The one pause that is as long as the server asked for; nothing else here takes a second.
  expect(pauses.mock.calls.filter(([, ms]) => ms !== undefined && ms >= 1_000 && ms <= 2_000)).toHaveLength(
    1,
  );
});

test.each([
  ["a state", (record: JsonObject) => record.state !== "pending" && Object.assign(record, { state: "sure" })],
  [
    "a decision",
    (record: JsonObject) => record.decision && Object.assign(record.decision, { decision: "yes_please" }),
  ],
  ["no decision", (record: JsonObject) => Object.assign(record, { decision: null })],
])("%s that nobody knows is a no", async (_, change) => {
  proxy.rule = (each) => {
    if (each === "GET /v1/stream") return { status: 503 };
    return each === "GET /v1/requests/*" ? rewritten((record) => void change(record)) : undefined;
  };
  const running = agent().run(call(), effects.run);
  await ann.approve(mine);
  expect(await running).toMatchObject({
    status: "denied",
    reason: expect.stringContaining("this version does not know"),
  });
  expect(effects.count).toBe(0);
});

test.each<[string, (claimed: JsonObject) => void, string]>([
  [
    "for another digest",
    (claimed) => Object.assign(claimed, { digest: "sha256:00" }),
    "something else than what was approved",
  ],
  [
    "with other arguments",
    (claimed) => Object.assign(claimed, { arguments: { n: 2 } as Json }),
    "nobody edited them",
  ],
])("a permit %s is not used, and reported as not run", async (_, change, reason) => {
  proxy.rule = (each) => (each === "POST /v1/requests/*/claim" ? rewritten(change) : undefined);
  const running = agent().run(call(), effects.run);
  await ann.approve(mine);
  expect(await running).toMatchObject({ status: "failed", reason: expect.stringContaining(reason) });
  expect(effects.count).toBe(0);
  expect(await onRecord()).toMatchObject([
    { state: "failed", outcome: { note: expect.stringContaining("not run") } },
  ]);
});

test("an approval of something else than was asked for here is not used", async () => {
  // A gateway in between shows people one thing and tells the agent another.
  proxy.rule = (each) =>
    each === "GET /v1/stream" ? { status: 503 } : (text) => text.replaceAll('"n":2', '"n":1');
  const placet = agent({
    fetch: (target, init) =>
      fetch(target, { ...init, body: (init?.body as string | null)?.replace('"n":1', '"n":2') }),
  });
  const running = placet.run(call(), effects.run);
  await ann.approve(mine);
  expect(await running).toMatchObject({
    status: "failed",
    reason: "what was approved is not what was asked for here",
  });
  expect(effects.count).toBe(0);
});

test.each([
  ["tool", () => [`"tool":"${tool}"`, '"tool":"read_only"'] as const],
  ["session", () => ['"session":"s1"', '"session":"s2"'] as const],
])("an approval for another %s than was asked for here is not used", async (_, swap) => {
  const [ours, theirs] = swap();
  const placet = agent({
    fetch: (target, init) =>
      fetch(target, { ...init, body: (init?.body as string | null)?.replace(ours, theirs) }),
  });
  const running = placet.run(call(), effects.run);
  await ann.approve();
  expect(await running).toMatchObject({
    status: "failed",
    reason: "what was approved is not what was asked for here",
  });
  expect(effects.count).toBe(0);
});

test("a clock that is a day wrong changes nothing", async () => {
  const { now } = Date;
  for (const wrong of [86_400_000, -86_400_000]) {
    vi.spyOn(Date, "now").mockImplementation(() => now() + wrong);
    const running = agent().run(call(), effects.run);
    await ann.approve(mine);
    await running;
    expect((await agent().hold(call({ expiresIn: "1s" }))).status).toBe("expired");
  }
  expect(effects.count).toBe(2);
});

test("a tool that throws is reported as failed, and its error reaches the caller unchanged", async () => {
  const boom = new RangeError(`no such file \ud800 ${"x".repeat(10_000)}`);
  const running = agent().run(call(), () => {
    throw boom;
  });
  const thrown = expect(running).rejects.toBe(boom);
  await ann.approve(mine);
  await thrown;
  const [record] = await onRecord();
  expect(record?.state).toBe("failed");
  expect(record?.outcome?.note).toMatch(/^RangeError: no such file . x+…$/u);
});

test.each([
  ["a result that is not JSON", () => new Map([["a", 1]]), null, "the result is not JSON"],
  ["no result", () => undefined, null, null],
  ["a result", () => ({ b: 1, a: [true] }), DIGEST, null],
])("%s is reported, and returned as it is", async (_, make, digest, note) => {
  tool = `free.${tool}`;
  const value = make();
  expect(await agent().run<unknown>(call(), () => value)).toBe(value);
  const [record] = await onRecord();
  expect(record).toMatchObject({ state: "succeeded", outcome: { note } });
  expect(record?.outcome?.result_digest ?? null).toBe(digest);
});

test("an outcome that cannot be reported does not undo the run", async () => {
  tool = `free.${tool}`;
  proxy.rule = (each) => (each.endsWith("/outcome") ? "refuse" : undefined);
  const unreported: string[] = [];
  const placet = agent({ outageBudget: 200, onUnreported: (held) => unreported.push(held.requestId ?? "") });
  expect(await placet.run(call(), effects.run)).toEqual({ ran: 1 });
  const [record] = await onRecord();
  expect(record?.state).toBe("claimed");
  expect(unreported).toEqual([record?.id]);
});

test("with pause an outage longer than the budget is waited out, before and during the wait", async () => {
  const budget = 100;
  const port = Number(new URL(proxy.url).port);
  const away = async () => {
    const began = performance.now();
    tried = 0;
    await proxy.stop();
    // An attempt was made after the budget was over.
    await expect.poll(() => tried - began > 2 * budget, { timeout: BOUND }).toBe(true);
  };
  let tried = 0;
  const counting: typeof fetch = (target, init) => {
    tried = performance.now();
    return fetch(target, init);
  };
  const placet = agent({ outageBudget: budget, timeout: 500, onOutage: "pause", fetch: counting });
  await proxy.stop();
  const running = placet.run(call(), effects.run);
  await away();
  proxy = await BadProxy.start(server.url, port);
  await ann.pending(mine);
  await away();
  await ann.approve(mine);
  proxy = await BadProxy.start(server.url, port);
  expect(await running).toEqual({ ran: 1 });
});

test("with pause the end of holdFor still ends the wait", async () => {
  const { url, close } = await nowhere();
  const placet = new Placet({ url, token: "k", outageBudget: 50, onOutage: "pause" });
  expect(await placet.run(call(), effects.run, { holdFor: 400 })).toMatchObject({ status: "unreachable" });
  close();
});

test("a server that is killed and comes back wakes those who wait, and the call runs once", async () => {
  const placet = server.agent();
  const running = placet.run(call(), effects.run);
  await ann.pending(mine);
  await server.down("SIGKILL");
  await server.up();
  await ann.approve(mine);
  expect(await running).toEqual({ ran: 1 });
  expect(await onRecord()).toMatchObject([{ state: "succeeded" }]);
});

test("a server that stays away while a call waits ends the wait without a run", async () => {
  const placet = agent({ outageBudget: 300 });
  const running = placet.run(call(), effects.run);
  const { id } = await ann.pending(mine);
  // The request is on record before its agent has heard so.
  await expect.poll(() => placet.waiting.state.waiting, { timeout: BOUND }).toBe(1);
  proxy.rule = () => "refuse";
  proxy.cut();
  expect(await running).toMatchObject({ status: "unreachable", request: id });
  expect(effects.count).toBe(0);
});

test.each([
  ["before the server heard of the claim", "hang" as const, "cancelled"],
  ["when the server had the claim", "swallow" as const, "failed"],
])("a caller that leaves %s leaves nothing half done", async (_, trick, state) => {
  proxy.rule = (each, count) => (each === "POST /v1/requests/*/claim" && count === 0 ? trick : undefined);
  const controller = new AbortController();
  const running = agent().run(call(), effects.run, { signal: controller.signal });
  const ended = expect(running).rejects.toThrow("gone");
  await ann.approve(mine);
  await expect.poll(() => proxy.count("POST /v1/requests/*/claim"), { timeout: BOUND }).toBe(1);
  if (trick === "swallow")
    await expect.poll(async () => (await onRecord())[0]?.state, { timeout: BOUND }).toBe("claimed");
  controller.abort(new Error("gone"));
  await ended;
  expect(effects.count).toBe(0);
  expect(await onRecord()).toMatchObject([{ state }]);
});

test("a caller that leaves while the server is away is not kept waiting", async () => {
  proxy.rule = () => "hang";
  const controller = new AbortController();
  // Both are longer than this test may take.
  const running = agent({ outageBudget: "10m", timeout: "10m" }).run(call(), effects.run, {
    signal: controller.signal,
  });
  const ended = expect(running).rejects.toThrow("gone");
  await expect.poll(() => proxy.calls.length, { timeout: BOUND }).toBe(1);
  controller.abort(new Error("gone"));
  await ended;
  // And nothing goes on behind its back.
  await expect.poll(() => proxy.open("POST /v1/requests"), { timeout: BOUND }).toBe(0);
  expect(effects.count).toBe(0);
});

test("a caller that has left when the yes arrives does not run it", async () => {
  tool = `free.${tool}`;
  const controller = new AbortController();
  const placet = agent({
    fetch: async (target, init) => {
      const answer = await fetch(target, init);
      if (String(target).includes("claim=true")) queueMicrotask(() => controller.abort(new Error("gone")));
      return answer;
    },
  });
  await expect(placet.run(call(), effects.run, { signal: controller.signal })).rejects.toThrow("gone");
  expect(effects.count).toBe(0);
  expect(await onRecord()).toMatchObject([
    { state: "failed", outcome: { note: expect.stringContaining("not run") } },
  ]);
});

test("refused input is a clear error at once", async () => {
  await expect(agent().run(call({ summary: "x".repeat(9_000) }), effects.run)).rejects.toThrow(Problem);
  await expect(agent().run({ ...call(), tool: "rm -rf" }, effects.run)).rejects.toThrow(
    /the tool's name must be/,
  );
  await expect(agent().run(call({ expiresIn: "soon" }), effects.run)).rejects.toThrow(/expiresIn must be/);
  await expect(agent().run(call(), effects.run, { holdFor: -1 })).rejects.toThrow(/holdFor must be/);
  await expect(agent().run(call(), effects.run, { then: "run" as never })).rejects.toThrow(/then must be/);
  expect(effects.count).toBe(0);
});
