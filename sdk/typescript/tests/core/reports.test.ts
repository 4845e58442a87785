import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ConfigError, Placet, PlacetError } from "../../src/index.js";
import { approve, deny, Gateway } from "../../src/testing/index.js";
import { BadProxy } from "../support/proxy.js";
import { BOUND, type Reviewer, Server } from "../support/server.js";

let server: Server;
let proxy: BadProxy;
let ann: Reviewer;
let tool = "";
let count = 0;
beforeAll(async () => {
  server = await Server.start();
  ann = await server.reviewer();
  proxy = await BadProxy.start(server.url);
});
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});
beforeEach(() => {
  proxy.rule = () => undefined;
  count += 1;
  tool = `free.report${count}`;
});
const states = async () => (await ann.client.list({ tool })).items.map(({ state }) => state);
const REPORT = "POST /v1/requests/*/outcome";
const agent = (options = {}) => server.agent({ url: proxy.url, ...options });

test("what policy allows is one call to the server before it runs, and one after", async () => {
  const before = proxy.calls.length;
  await agent().run({ tool, arguments: {} }, () => {
    expect(proxy.calls.slice(before)).toEqual(["POST /v1/requests"]);
  });
  expect(proxy.calls.slice(before)).toEqual(["POST /v1/requests", REPORT]);
  expect(await states()).toEqual(["succeeded"]);
});

test.each([
  ["the client's", { report: "background" as const }, {}],
  ["the gate's", {}, { report: "background" as const }],
])(
  "with %s report in the background a result comes back before its report is sent",
  async (_, client, own) => {
    proxy.rule = (call) => (call === REPORT ? "hang" : undefined);
    const placet = agent({ ...client, timeout: 500, outageBudget: "60s" });
    const gated = placet.gate(async () => "ran", { tool, ...own });
    expect(await gated()).toBe("ran");
    expect(await states()).toEqual(["claimed"]);
    const flushed = placet.flush();
    proxy.rule = () => undefined;
    await flushed;
    expect(await states()).toEqual(["succeeded"]);
  },
);

test("an error is reported in the background too, and reaches the caller unchanged", async () => {
  const placet = agent({ report: "background" });
  const running = placet.run({ tool, arguments: {} }, () => {
    throw new RangeError("full");
  });
  await expect(running).rejects.toThrow(RangeError);
  await placet.flush();
  expect(await states()).toEqual(["failed"]);
});

test("a report in the background that does not arrive is told, and flush ends", async () => {
  proxy.rule = (call) => (call === REPORT ? "refuse" : undefined);
  const told: string[] = [];
  const placet = agent({
    report: "background",
    outageBudget: 200,
    onUnreported: (held: { requestId?: string }, error: Error) =>
      told.push(`${held.requestId} ${error.name}`),
  });
  await placet.run({ tool, arguments: {} }, () => "ran");
  await placet.flush();
  expect(told).toEqual([expect.stringMatching(/^req_\S+ Unreachable$/)]);
  expect(await states()).toEqual(["claimed"]);
});

test("a listener that throws does not make a call that ran look as if it had not", async () => {
  proxy.rule = (call) => (call === REPORT ? "refuse" : undefined);
  const onUnreported = () => {
    throw new Error("broken");
  };
  const placet = agent({ outageBudget: 200, onUnreported });
  expect(await placet.run({ tool, arguments: {} }, () => "ran")).toBe("ran");
});

test("an outage does not fill the memory with reports: callers wait in the end", async () => {
  const gateway = new Gateway({ decide: approve });
  let answering = 0;
  let release = () => {};
  const released = new Promise<void>((done) => (release = done));
  const fetched: typeof fetch = async (target, init) => {
    if (!String(target).endsWith("/outcome")) return gateway.fetch(target as string, init);
    answering += 1;
    await released;
    return gateway.fetch(target as string, init);
  };
  const placet = gateway.client({ fetch: fetched, report: "background", timeout: BOUND });
  let done = 0;
  const running = Array.from({ length: 70 }, (_, n) =>
    placet.run({ tool: "t", arguments: { n } }, () => n).then(() => (done += 1)),
  );
  await expect.poll(() => answering, { timeout: BOUND }).toBe(70);
  expect(done).toBeLessThanOrEqual(64);
  release();
  await Promise.all(running);
  await placet.flush();
  expect(gateway.requests.every(({ state }) => state === "succeeded")).toBe(true);
});

test("a report without a permit is an error at once, and so is a word that is none", async () => {
  const gateway = new Gateway({ decide: () => deny() });
  const held = await gateway.client({ report: "background" }).hold({ tool: "t", arguments: {} });
  await expect(held.succeeded()).rejects.toThrow(PlacetError);
  const wrong = { url: "http://127.0.0.1:1", token: "t", report: "never" as never };
  expect(() => new Placet(wrong)).toThrow(ConfigError);
});
