import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { ConfigError, Placet, type Waiting } from "../../src/index.js";
import { approve, Gateway } from "../../src/testing/index.js";
import { BadProxy } from "../support/proxy.js";
import { BOUND, type Reviewer, Server } from "../support/server.js";

let server: Server;
let ann: Reviewer;
let proxy: BadProxy;
let tool = "";
let count = 0;

beforeAll(async () => {
  server = await Server.start();
  ann = await server.reviewer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  proxy = await BadProxy.start(server.url);
  count += 1;
  tool = `notice${count}`;
});
afterEach(() => proxy.stop());

const mine = (record: { tool?: string | null }) => record.tool === tool;
const told: Waiting[] = [];
beforeEach(() => {
  told.length = 0;
});
const listen = (waiting: Waiting) => told.push(waiting);

test("a call that needs a person is told once, with a whole address and the time that is left", async () => {
  const placet = server.agent({ onWaiting: listen });
  const running = placet.run({ tool, arguments: {} }, () => "ran");
  const { id, expires_at } = await ann.pending(mine);
  await expect.poll(() => placet.waiting.state.streaming, { timeout: BOUND }).toBe(true);
  await ann.approve(id);
  expect(await running).toBe("ran");
  expect(told).toEqual([
    {
      tool,
      url: `${server.url}/r/${id}`,
      expiresAt: expires_at,
      timeLeft: expect.any(Number),
      why: "person",
      request: id,
    },
  ]);
  const [{ timeLeft }] = told as [Waiting];
  expect(timeLeft).toBeGreaterThan(0);
  expect(timeLeft).toBeLessThanOrEqual(301_000);
});

test("what policy decides, and what a person is not asked about, is not told", async () => {
  const placet = server.agent({ onWaiting: listen });
  await placet.run({ tool: `free.${tool}`, arguments: {} }, () => "ran");
  await placet.run({ tool: `never.${tool}`, arguments: {} }, () => "ran");
  expect(told).toEqual([]);
});

test("an outage is told once, and its end once", async () => {
  const placet = server.agent({ url: proxy.url, onWaiting: listen, timeout: 500, outageBudget: "60s" });
  const running = placet.run({ tool, arguments: {} }, () => "ran");
  const { id } = await ann.pending(mine);
  await expect.poll(() => placet.waiting.state.streaming, { timeout: BOUND }).toBe(true);
  proxy.rule = () => "refuse";
  proxy.cut();
  await expect.poll(() => told.map(({ why }) => why), { timeout: BOUND }).toEqual(["person", "outage"]);
  const attempts = proxy.calls.length;
  await expect.poll(() => proxy.calls.length, { timeout: BOUND }).toBeGreaterThan(attempts + 2);
  proxy.rule = () => undefined;
  await expect
    .poll(() => told.map(({ why }) => why), { timeout: BOUND })
    .toEqual(["person", "outage", "back"]);
  await ann.approve(id);
  expect(await running).toBe("ran");
  expect(told).toHaveLength(3);
  expect(new Set(told.map(({ url }) => url))).toEqual(new Set([`${proxy.url}/r/${id}`]));
});

test("a stream that is cut off once is no outage", async () => {
  const placet = server.agent({ url: proxy.url, onWaiting: listen });
  const running = placet.run({ tool, arguments: {} }, () => "ran");
  await ann.pending(mine);
  await expect.poll(() => placet.waiting.state.streaming, { timeout: BOUND }).toBe(true);
  proxy.cut();
  await expect.poll(() => proxy.count("GET /v1/stream"), { timeout: BOUND }).toBe(2);
  await ann.approve(mine);
  expect(await running).toBe("ran");
  expect(told.map(({ why }) => why)).toEqual(["person"]);
});

test.each([
  ["throws", () => { throw new Error("broken"); }], // biome-ignore format: a table
  ["rejects", () => Promise.reject(new Error("broken"))],
  ["gives a promise that breaks", () => ({ then: () => { throw new Error("broken"); } })], // biome-ignore format: a table
])("a listener that %s changes nothing", async (_, onWaiting) => {
  const gateway = new Gateway();
  const running = gateway.client({ onWaiting }).run({ tool, arguments: {} }, () => "ran");
  await gateway.decide((await gateway.pending(tool)).id, approve());
  expect(await running).toBe("ran");
});

test("a gate has a listener of its own, and null tells nobody", async () => {
  const gateway = new Gateway();
  const client = gateway.client({ onWaiting: () => expect.unreachable("the client's own was called") });
  const own = client.gate(async () => "ran", { tool, onWaiting: listen })();
  await gateway.decide((await gateway.pending(tool)).id, approve());
  await own;
  expect(told.map((each) => each.tool)).toEqual([tool]);
  const nobody = client.gate(async () => "ran", { tool, onWaiting: null })();
  await gateway.decide((await gateway.pending(tool)).id, approve());
  expect(await nobody).toBe("ran");
  const asked = client.confirm("Sure?", { onWaiting: listen });
  await gateway.decide((await gateway.pending()).id, approve());
  expect((await asked).go).toBe(true);
  expect(told.map((each) => each.tool)).toEqual([tool, "confirmation"]);
});

test("a listener that is none is refused at once", () => {
  expect(() => new Placet({ url: "http://127.0.0.1:1", token: "t", onWaiting: "yes" as never })).toThrow(
    ConfigError,
  );
});

test("every record has a whole address, wherever it comes from", async () => {
  const base = `${proxy.url}/below`;
  const fetched: typeof fetch = (target, init) => fetch(String(target).replace("/below/", "/"), init);
  const placet = server.agent({ url: base, fetch: fetched });
  const stop = new AbortController();
  const streamed = (async () => {
    for await (const { record } of placet.stream({ signal: stop.signal }))
      if (record && mine(record)) return record;
    return undefined;
  })();
  await expect.poll(() => proxy.count("GET /v1/stream"), { timeout: BOUND }).toBe(1);
  const made = await placet.create({ kind: "action", tool, arguments: {}, session: tool });
  const page = `${base}/r/${made.id}`;
  expect(made.url).toBe(page);
  expect((await streamed)?.url).toBe(page);
  expect((await placet.get(made.id)).url).toBe(page);
  expect((await placet.wait(made.id, { timeout: 10 })).url).toBe(page);
  const held = await placet.hold({ tool, arguments: {} }, { holdFor: 0, then: "leave" });
  expect(held.url).toBe(`${base}/r/${held.requestId}`);
  const people = await server.key("reviewer", "ann");
  const { items } = await new Placet({ url: base, token: people, fetch: fetched }).list({ tool });
  expect(items.map(({ url }) => url)).toContain(page);
  await placet.cancel(made.id);
  const refused = await placet.claim(made.id, "c".repeat(32)).catch((error) => error);
  expect(refused.record?.url).toBe(page);
  stop.abort();
});
