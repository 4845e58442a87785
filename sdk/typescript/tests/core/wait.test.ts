import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { Placet } from "../../src/index.js";
import { SseParser } from "../../src/sse.js";
import { BadProxy } from "../support/proxy.js";
import { BOUND, type Reviewer, Server } from "../support/server.js";

let server: Server;
let ann: Reviewer;
let proxy: BadProxy;
let session = 0;

beforeAll(async () => {
  server = await Server.start();
  ann = await server.reviewer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  proxy = await BadProxy.start(server.url);
  session += 1;
});
afterEach(() => proxy.stop());

const agent = (options = {}) => server.agent({ url: proxy.url, ...options });
const call = (n = 0) => ({ tool: `w${session}`, arguments: { n }, session: `w${session}` });
const mine = (record: { tool?: string | null }) => record.tool === `w${session}`;
/** Other calls, one after the other: what a client asks for again and again is asked for meanwhile. */
const meanwhile = async () => {
  for (let n = 0; n < 100; n += 1) await ann.client.list({ tool: "nothing" });
};
/** One look is held open: no other one comes while others call the server. */
const held = () =>
  expect
    .poll(
      async () => {
        const before = proxy.count(LOOK);
        await meanwhile();
        return proxy.open(LOOK) === 1 && proxy.count(LOOK) === before;
      },
      { timeout: BOUND },
    )
    .toBe(true);
const STREAM = "GET /v1/stream";
const LOOK = "GET /v1/requests/*";

test("200 calls wait on one stream, and each learns of its own decision", async () => {
  // A busy machine takes its time with 200 calls at once; that must not look like a broken stream.
  const placet = agent({ timeout: "60s" });
  const holding = Array.from({ length: 200 }, (_, n) => placet.hold(call(n)));
  await expect
    .poll(() => placet.waiting.state, { timeout: BOUND })
    .toEqual({ waiting: 200, streaming: true });
  const { items } = await ann.client.list({ state: "pending", tool: `w${session}`, limit: "200" });
  expect(items).toHaveLength(200);
  await Promise.all(
    items.map(({ id, digest, version, arguments: args }) =>
      ann.client.decide(id, (args?.n as number) % 2 === 0 ? "approve" : "deny", { digest, version }),
    ),
  );
  const held = await Promise.all(holding);
  expect(held.map((each) => each.go)).toEqual(held.map((_, n) => n % 2 === 0));
  expect(held.every((each, n) => !each.go || each.arguments.n === n)).toBe(true);
  expect(proxy.peak.get(STREAM)).toBe(1);
  // What was decided is learned from the stream; everybody reads once when it opens, a few at a time.
  expect(proxy.count(LOOK)).toBeLessThan(600);
  expect(proxy.peak.get(LOOK)).toBeLessThanOrEqual(16);
}, 120_000);

test("the stream is closed when nobody waits, and opened again for the next call", async () => {
  const placet = agent();
  for (const streams of [1, 2]) {
    const holding = placet.hold(call(streams));
    await ann.approve(mine);
    await holding;
    await expect
      .poll(() => placet.waiting.state, { timeout: BOUND })
      .toEqual({ waiting: 0, streaming: false });
    expect(proxy.count(STREAM)).toBe(streams);
  }
});

test("a decision that fell while the stream was broken is not missed", async () => {
  const placet = agent();
  const holding = placet.hold(call());
  await expect.poll(() => placet.waiting.state.streaming, { timeout: BOUND }).toBe(true);
  proxy.rule = (each) => (each === STREAM ? "refuse" : undefined);
  proxy.cut();
  await ann.approve(mine);
  proxy.rule = () => undefined;
  expect((await holding).go).toBe(true);
});

test("a stream that comes back goes on where it was", async () => {
  const holding = agent().hold(call());
  await ann.pending(mine);
  await expect.poll(() => proxy.passed(STREAM), { timeout: BOUND }).toMatch(/^id: ?\S+$/m);
  proxy.cut();
  await expect.poll(() => proxy.count(STREAM), { timeout: BOUND }).toBe(2);
  const second = proxy.headers[proxy.calls.lastIndexOf(STREAM)];
  expect(second?.["last-event-id"]).toMatch(/\./);
  await ann.approve(mine);
  expect((await holding).go).toBe(true);
});

test.each([
  ["refused", { status: 404 } as const],
  ["cut", "refuse" as const],
  ["answered with a page", { status: 200 } as const],
  ["swallowed by a proxy", "buffer" as const],
])("without a stream (%s) long polls take over", async (_, trick) => {
  proxy.rule = (each) => (each === STREAM ? trick : undefined);
  const holding = agent({ timeout: "1s", outageBudget: "1m" }).hold(call());
  await ann.pending(mine);
  // It is held open, and not asked again and again.
  await held();
  const before = proxy.count(LOOK);
  await ann.approve(mine);
  expect((await holding).go).toBe(true);
  expect(proxy.count(LOOK)).toBeLessThanOrEqual(before + 1);
});

test("where long polls are cut off as well, plain reads are enough", async () => {
  proxy.rule = (each) => (each === STREAM ? "refuse" : each === LOOK ? "impatient" : undefined);
  const pauses = vi.spyOn(globalThis, "setTimeout");
  const holding = agent({ outageBudget: "1s" }).hold(call());
  await ann.pending(mine);
  // The first long poll is cut off after a second. That is no outage, however long it goes on.
  await expect.poll(() => proxy.count(LOOK), { timeout: BOUND }).toBeGreaterThan(3);
  // It pauses between two reads.
  const long = pauses.mock.calls.filter(([, ms]) => ms !== undefined && ms >= 500 && ms <= 1_500);
  expect(long.length).toBeGreaterThanOrEqual(2);
  pauses.mockRestore();
  await ann.approve(mine);
  expect((await holding).go).toBe(true);
});

test("without a stream, who comes later does not wait for those who came before", async () => {
  proxy.rule = (each) => (each === STREAM ? "refuse" : undefined);
  const placet = agent();
  const first = placet.hold(call(1));
  await expect.poll(() => proxy.open(LOOK), { timeout: BOUND }).toBe(1);
  const second = placet.hold(call(2));
  await expect.poll(() => proxy.open(LOOK), { timeout: BOUND }).toBe(2);
  await ann.approve((record) => mine(record) && record.arguments?.n === 2);
  expect((await second).go).toBe(true);
  await ann.approve(mine);
  expect((await first).go).toBe(true);
});

test("without a stream, a caller that gives up leaves no call open behind it", async () => {
  proxy.rule = (each) => (each === STREAM ? "refuse" : undefined);
  const holding = agent().hold(call(), { holdFor: "2s" });
  await expect.poll(() => proxy.open(LOOK), { timeout: BOUND }).toBe(1);
  expect((await holding).status).toBe("cancelled");
  await expect.poll(() => proxy.open(LOOK), { timeout: BOUND }).toBe(0);
});

test("more calls than there may be long polls all learn of their decisions", async () => {
  proxy.rule = (each) => (each === STREAM ? "refuse" : undefined);
  const placet = agent();
  const holding = Array.from({ length: 40 }, (_, n) => placet.hold(call(n)));
  await expect.poll(() => placet.waiting.state.waiting, { timeout: BOUND }).toBe(40);
  await expect.poll(() => proxy.open(LOOK), { timeout: BOUND }).toBe(16);
  const { items } = await ann.client.list({ state: "pending", tool: `w${session}`, limit: "200" });
  for (const { id, digest, version } of items) await ann.client.decide(id, "approve", { digest, version });
  expect((await Promise.all(holding)).every((each) => each.go)).toBe(true);
});

test("a caller that gives up leaves the others waiting", async () => {
  const placet = agent();
  const controller = new AbortController();
  const gone = placet.hold(call(1), { signal: controller.signal });
  const stays = placet.hold(call(2));
  await expect.poll(() => placet.waiting.state.waiting, { timeout: BOUND }).toBe(2);
  const ended = expect(gone).rejects.toThrow("enough");
  controller.abort(new Error("enough"));
  await ended;
  expect(placet.waiting.state.waiting).toBe(1);
  await ann.approve((record) => mine(record) && record.arguments?.n === 2);
  expect((await stays).go).toBe(true);
});

test("two calls may wait for one request", async () => {
  const placet = agent();
  const keys = { strong: `both-${session}` };
  const both = [placet.hold({ ...call(), keys }), placet.hold({ ...call(), keys })];
  await ann.approve(mine);
  const held = await Promise.all(both);
  // One claims, the other learns that it is claimed.
  expect(held.map((each) => each.status).sort()).toEqual(["approved", "unknown"]);
});

test("wait answers with the record as it stands when its time is over", async () => {
  const placet = agent();
  const { id } = await placet.create({ kind: "action", tool: `w${session}`, arguments: {}, session: "w" });
  expect((await placet.wait(id, { timeout: 100 })).state).toBe("pending");
  const waiting = placet.wait(id);
  await ann.approve(id);
  expect((await waiting).state).toBe("approved");
});

test("the stream tells of every change, across a broken connection", async () => {
  const placet = agent();
  const seen: string[] = [];
  const listening = (async () => {
    for await (const { type, record } of placet.stream()) {
      if (!record || !mine(record)) continue;
      seen.push(type);
      if (type === "request.decided") return;
    }
  })();
  await expect.poll(() => proxy.passed(STREAM), { timeout: BOUND }).toBeDefined();
  await placet.create({ kind: "action", ...call() });
  await expect.poll(() => seen, { timeout: BOUND }).toEqual(["request.created"]);
  proxy.cut();
  await ann.approve(mine);
  await listening;
  expect(seen).toEqual(["request.created", "request.decided"]);
});

test("a slow reader of the stream gets everything, and no more is kept for it than there may be", async () => {
  let streams = 0;
  const placet = new Placet({
    token: "k",
    // Everything after the cursor at once, and then silence.
    fetch: async (_, init) => {
      streams += 1;
      const after = Number(new Headers(init?.headers).get("last-event-id") ?? 0);
      const lines = Array.from(
        { length: 2_500 - after },
        (_, n) => `id: ${after + n + 1}\ndata: {"n":${after + n + 1}}\n\n`,
      );
      const body = new ReadableStream({
        start: (controller) =>
          controller.enqueue(new TextEncoder().encode(`retry: 1000\n\n${lines.join("")}`)),
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    },
  });
  const seen: unknown[] = [];
  for await (const event of placet.stream()) {
    seen.push((event as unknown as { n: number }).n);
    if (seen.length === 2_500) break;
  }
  expect(seen).toEqual(Array.from({ length: 2_500 }, (_, n) => n + 1));
  expect(streams).toBe(3);
});

describe("events out of bytes", () => {
  const text = ": hello\r\nid: 1\r\nevent: a\r\ndata: x\r\ndata:y\r\n\r\nid: 2\n\ndata: z\n\n:beat\n\n";
  const events = [
    { id: "1", event: "a", data: "x\ny" },
    { id: "2", event: "message", data: "" },
    { id: undefined, event: "message", data: "z" },
  ];
  test("come out alike, however they are cut", () => {
    for (let size = 1; size <= text.length; size += 1) {
      const parser = new SseParser();
      const found = [];
      for (let at = 0; at < text.length; at += size) found.push(...parser.push(text.slice(at, at + size)));
      expect(found, `in pieces of ${size}`).toEqual(events);
    }
  });
  test("have a bound", () => {
    const parser = new SseParser();
    const endless = "x".repeat(1024 * 1024);
    expect(() => {
      for (let at = 0; at < 10; at += 1) parser.push(endless);
    }).toThrow("too long");
  });
});
