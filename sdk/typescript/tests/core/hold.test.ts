import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  Denied,
  type Held,
  keys,
  type Placet,
  type PlacetOptions,
  type RequestRecord,
  Session,
} from "../../src/index.js";
import { approve, deny, Gateway } from "../../src/testing/index.js";
import { Effects, Reviewer, Server } from "../support/server.js";

/** The real program, and the gateway for tests, which must behave alike. */
interface World {
  agent(options?: PlacetOptions): Placet;
  reviewer(): Promise<Reviewer> | Reviewer;
  stop(): Promise<void>;
}
const worlds: [string, () => Promise<World>][] = [
  ["the real server", () => Server.start()],
  [
    "the gateway for tests",
    async () => {
      const decide = ({ tool }: RequestRecord) =>
        tool?.startsWith("free.")
          ? approve()
          : tool?.startsWith("never.")
            ? deny("nobody does this")
            : undefined;
      const gateway = new Gateway({ decide });
      return {
        agent: (options) => gateway.client(options),
        reviewer: () => new Reviewer(gateway.reviewer()),
        stop: async () => {},
      };
    },
  ],
];

describe.each(worlds)("with %s", (_, start) => {
  let server: World;
  let ann: Reviewer;
  beforeAll(async () => {
    server = await start();
    ann = await server.reviewer();
  });
  afterAll(() => server.stop());

  const call = (tool: string, more = {}) => ({
    tool,
    arguments: { files: ["a.md"] },
    session: "s1",
    ...more,
  });
  const of = (tool: string) => (record: { tool?: string | null }) => record.tool === tool;

  test("an approved call runs once with what was approved, and its outcome is on record", async () => {
    const effects = new Effects();
    const bot = server.agent();
    const running = bot.run(call("t.approve"), effects.run);
    await ann.approve(of("t.approve"));
    expect(await running).toEqual({ ran: 1 });
    expect(effects.ran).toEqual([{ files: ["a.md"] }]);
    const { items } = await ann.client.list({ tool: "t.approve" });
    expect(items[0]?.state).toBe("succeeded");
    expect(items[0]?.outcome?.result_digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  test("a denied call never runs, and the model is told why", async () => {
    const effects = new Effects();
    const running = server.agent().run(call("t.deny"), effects.run);
    await ann.deny("not on a Friday", of("t.deny"));
    expect(await running).toMatchObject({ status: "denied", tool: "t.deny", reason: "not on a Friday" });
    expect(effects.count).toBe(0);
    const raising = server.agent().run(call("t.deny2"), effects.run, { onDenied: "raise" });
    const refused = expect(raising).rejects.toThrow(Denied);
    await ann.deny("no", of("t.deny2"));
    await refused;
    expect(effects.count).toBe(0);
  });

  test("an edited call runs with the replacement and says so", async () => {
    const holding = server.agent().hold(call("t.edit"));
    await ann.edit({ files: ["b.md"] }, of("t.edit"));
    const held = await holding;
    expect(held).toMatchObject({ go: true, edited: true, arguments: { files: ["b.md"] }, by: ["ann"] });
    expect(held.note()).toEqual({ placet: { edited: true, executed_arguments: { files: ["b.md"] } } });
    await held.succeeded();
  });

  test("an edit that does not fit is not run and is reported as failed", async () => {
    const effects = new Effects();
    const bot = server.agent();
    const check = (args: { [name: string]: unknown }) => {
      if (!Array.isArray(args.files)) throw new Error("files must be a list");
    };
    const running = bot.run(call("t.unfit", { check }), effects.run);
    await ann.edit({ files: "b.md" }, of("t.unfit"));
    expect(await running).toMatchObject({
      status: "failed",
      reason: "the edited arguments do not fit: files must be a list",
    });
    expect(effects.count).toBe(0);
    const { items } = await ann.client.list({ tool: "t.unfit" });
    expect(items[0]?.state).toBe("failed");
  });

  test("an approval is for one run, and a refusal for none", async () => {
    const effects = new Effects();
    const held = await server.agent().hold(call("free.once"));
    expect(await held.run(effects.run)).toEqual({ ran: 1 });
    await expect(held.run(effects.run)).rejects.toThrow("for one run");
    const refused = await server.agent().hold(call("never.once"));
    await expect(refused.run(effects.run)).rejects.toThrow(Denied);
    await expect(refused.succeeded()).rejects.toThrow("nothing to report");
    expect(effects.count).toBe(1);
  });

  test("an answer in place of a run reaches the model", async () => {
    const running = server
      .agent()
      .run(call("t.respond", { allowed: ["approve", "deny", "respond"] }), new Effects().run);
    await ann.respond("use the archive", of("t.respond"));
    expect(await running).toMatchObject({ status: "answered", answer: "use the archive" });
  });

  test("what policy allows runs at once and what it denies never", async () => {
    const effects = new Effects();
    const bot = server.agent();
    expect(await bot.run(call("free.read"), effects.run)).toEqual({ ran: 1 });
    expect(await bot.run(call("never.drop"), effects.run)).toMatchObject({
      status: "denied",
      reason: expect.stringContaining("nobody does this"),
    });
    expect(effects.count).toBe(1);
  });

  test("a request nobody decides expires", async () => {
    const held = await server.agent().hold(call("t.expire", { expiresIn: "1s" }));
    expect(held).toMatchObject({ go: false, status: "expired" });
  });

  test("the end of the local wait withdraws the request, or leaves it open", async () => {
    const bot = server.agent();
    const gone = await bot.hold(call("t.over"), { holdFor: 150 });
    expect(gone).toMatchObject({ go: false, status: "cancelled", reason: "nobody decided within 150 ms" });
    expect((await bot.get(gone.requestId as string)).state).toBe("cancelled");
    const left = await bot.hold(call("t.left"), { holdFor: "200ms", then: "leave" });
    expect(left.status).toBe("pending");
    expect((await bot.get(left.requestId as string)).state).toBe("pending");
  });

  test("a restarted process finds its own open request by the name of its session, and nobody is asked twice", async () => {
    const again = call("t.again", { context: { attempt: 1 } });
    const left = await server.agent().hold(again, { holdFor: 100, then: "leave" });
    const pending = await server.agent().hold(again, { holdFor: 100, then: "leave" });
    expect(pending).toMatchObject({ status: "pending", requestId: left.requestId });
    await ann.approve(left.requestId);
    // Another process, with another strong key and something else to say about it.
    const held = await server.agent().hold({ ...again, summary: "once more", context: { attempt: 2 } });
    expect(held).toMatchObject({ go: true, requestId: left.requestId });
    await held.succeeded();
    const fresh = await server.agent().hold(again, { holdFor: 0, then: "leave" });
    expect(fresh.status).toBe("pending");
    expect(fresh.requestId).not.toBe(left.requestId);
  });

  test("a permit that somebody else claimed is never used again, and a repeatable call asks again", async () => {
    const strong = keys.random();
    const first = server.agent().hold(call("t.claimed", { keys: { strong } }));
    await ann.approve(of("t.claimed"));
    expect((await first).go).toBe(true);
    const second = await server.agent().hold(call("t.claimed", { keys: { strong } }));
    expect(second).toMatchObject({ go: false, status: "unknown" });
    const third = server.agent().hold(call("t.claimed", { keys: { strong }, idempotent: true }));
    const again = await ann.pending(of("t.claimed"));
    expect(again.context?.repeats).toBe((await first).requestId);
    await ann.approve(again.id);
    expect((await third).go).toBe(true);
  });

  test("an aborted caller takes its request with it", async () => {
    const controller = new AbortController();
    const holding = server.agent().hold(call("t.abort"), { signal: controller.signal });
    const { id } = await ann.pending(of("t.abort"));
    const ended = expect(holding).rejects.toThrow("the user went home");
    controller.abort(new Error("the user went home"));
    await ended;
    expect(await ann.client.get(id)).toMatchObject({ state: "cancelled" });
  });

  test("a session gives its name to every call inside it", async () => {
    const session = new Session({ id: "s-inside", app: "shop", agent: "clerk" });
    const bot = server.agent();
    const { record } = await session.run(
      async (): Promise<Held> => bot.hold({ tool: "free.x", arguments: {} }),
    );
    expect(record).toMatchObject({ session: "s-inside", context: { app: "shop", agent: "clerk" } });
  });
});
