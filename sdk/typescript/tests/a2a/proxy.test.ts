/** The governing proxy, between both generations of @a2a-js/sdk and an agent that speaks kagent's hitl/v1. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Reviewer, Server } from "../support/server.js";
import { following, type Peer, refusal, type Seen, WAYS } from "./clients.js";
import { type Call, Upstream } from "./upstream.js";

const FINAL = new Set(["completed", "failed", "canceled", "rejected"]);

let upstream: Upstream;
let server: Server;
let ann: Reviewer;
beforeAll(async () => {
  upstream = await Upstream.start();
  const config = `[[doors.a2a]]
namespace = "demo"
agent = "ops"
url = "${upstream.url}/"
mode = "hold"
`;
  server = await Server.start({ config });
  ann = await server.reviewer("ann");
});
afterAll(async () => {
  await server.stop();
  await upstream.stop();
});

const doing = (...calls: Call[]) => JSON.stringify(calls);
const DELETE: Call = ["delete_file", { path: "/srv/a" }];
const PAY: Call = ["pay", { to: "bob", amount: Number.MAX_SAFE_INTEGER }];

async function outcome(peer: Peer, id = "", within = 60_000): Promise<Seen> {
  for (const until = performance.now() + within; ; await sleep(50)) {
    const seen = await peer.get(id);
    if (FINAL.has(seen.state ?? "")) return seen;
    if (performance.now() > until) throw new Error(`the task is still ${seen.state}`);
  }
}

describe.each(WAYS)("%s", (name, connect) => {
  let peer: Peer;
  let caller: string;
  beforeAll(async () => {
    caller = `caller-${name.replaceAll(/[^a-z0-9]+/gi, "-")}`;
    peer = await connect(`${server.url}/a2a/demo/ops`, await server.key("agent", caller));
  });
  beforeEach(() => {
    upstream.ran.length = 0;
  });
  const about = (tool: string) => (record: { agent: string; tool?: string | null }) =>
    record.agent === caller && record.tool === tool;

  test("of two calls exactly the approved one runs, once, and the model hears why not the other", async () => {
    const task = await peer.send(doing(DELETE, PAY, ["read_file", { path: "/srv/b" }]));
    expect(task.state).toBe("working");
    expect(task.text.toLowerCase()).toContain("awaiting approval");
    await ann.approve(about("delete_file"));
    const asked = await ann.pending(about("pay"));
    expect(asked.arguments).toEqual(PAY[1]);
    expect(upstream.ran).toEqual([["read_file", { path: "/srv/b" }]]);
    await ann.deny("too much", about("pay"));
    const ended = await outcome(peer, task.id);
    expect(ended.state).toBe("completed");
    expect(ended.text).toContain("pay rejected: too much");
    expect(upstream.ran.slice(1)).toEqual([DELETE]);
  });

  test("one stream goes on across the pause", async () => {
    const seen: Seen[] = [];
    const reading = (async () => {
      for await (const event of peer.stream(doing(DELETE))) seen.push(event);
    })();
    const asked = await ann.pending(about("delete_file"));
    await expect.poll(() => seen.map(({ text }) => text.toLowerCase()).join()).toContain("awaiting approval");
    expect(upstream.ran).toEqual([]);
    await ann.approve(asked.id);
    await reading;
    const states = seen.flatMap(({ state }) => state ?? []);
    expect(states).not.toContain("input-required");
    expect(states.filter((state) => state === "completed")).toHaveLength(1);
    expect(states.at(-1)).toBe("completed");
    expect(upstream.ran).toEqual([DELETE]);
  });

  test("a client that went away is not needed, and one that comes back gets the outcome", async () => {
    const gone = new AbortController();
    let id = "";
    await refusal(
      (async () => {
        for await (const event of peer.stream(doing(DELETE), {}, gone.signal)) {
          id ||= event.id ?? "";
          gone.abort();
        }
      })(),
    );
    const asked = await ann.pending(about("delete_file"));
    const listening = await following(peer.subscribe(id));
    await ann.approve(asked.id);
    expect((await listening.end).at(-1)?.state).toBe("completed");
    expect(upstream.ran).toEqual([DELETE]);
  });

  test("chatter is refused, and the approval survives it", async () => {
    const task = await peer.send(doing(DELETE));
    const asked = await ann.pending(about("delete_file"));
    const answer = refusal(peer.send("approve", { task: task.id, context: task.context }));
    expect(await answer).toMatch(/UnsupportedOperation|-32004|awaiting approval/i);
    expect(upstream.ran).toEqual([]);
    await ann.approve(asked.id);
    expect((await outcome(peer, task.id)).state).toBe("completed");
    expect(upstream.ran).toEqual([DELETE]);
  });

  test("a cancelled task runs nothing", async () => {
    const task = await peer.send(doing(DELETE));
    const asked = await ann.pending(about("delete_file"));
    expect((await peer.cancel(task.id ?? "")).state).toBe("canceled");
    const late = ann.client.decide(asked.id, "approve", { digest: asked.digest, version: asked.version });
    expect(await refusal(late)).toContain("cancelled");
    expect(upstream.ran).toEqual([]);
  });

  test("a question in plain words is answered by a person", async () => {
    const task = await peer.send("ask me");
    expect(task.state).toBe("working");
    const asked = await ann.pending((record) => record.agent === caller && record.kind === "input");
    expect(asked.question).toBe("Which colour?");
    await ann.respond("blue", asked.id);
    const ended = await outcome(peer, task.id);
    expect([ended.state, ended.text.trim()]).toEqual(["completed", "heard: blue"]);
  });

  test("a question in plain words that nobody answers ends the task, because no word would be safe", async () => {
    const task = await peer.send("ask me");
    await ann.deny("none of its business", (record) => record.agent === caller && record.kind === "input");
    expect((await outcome(peer, task.id)).state).toBe("canceled");
  });

  test("the task of somebody else is not there", async () => {
    const task = await peer.send(doing(DELETE));
    await ann.deny("no", about("delete_file"));
    await outcome(peer, task.id);
    const stranger = await connect(`${server.url}/a2a/demo/ops`, await server.key("agent", "stranger"));
    expect(await refusal(stranger.get(task.id ?? ""))).toMatch(/TaskNotFound/);
    expect(upstream.ran).toEqual([]);
  });
});
