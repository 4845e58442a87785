import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ConfigError, type Placet } from "../../src/index.js";
import {
  FileStore,
  fileLock,
  type PausedRun,
  Resumer,
  type ResumerOptions,
  type ResumeSource,
} from "../../src/resume/index.js";
import { approve, deny, Gateway } from "../../src/testing/index.js";
import { BOUND } from "../support/server.js";

/** Runs in memory, each of which waits for one call, and goes on by running it. */
class Store implements ResumeSource {
  readonly framework = "memory";
  readonly paused = new Map<string, string[]>();
  readonly ran: string[] = [];
  readonly status: string[] = [];
  scans = 0;
  going = 0;
  most = 0;
  before: (run: string) => unknown = () => undefined;

  constructor(readonly client: Placet) {}

  call = (run: string) => ({
    tool: "t",
    arguments: { run },
    session: run,
    context: { framework: "memory" },
    keys: { strong: `key-${run}` },
  });

  async pause(run: string): Promise<string> {
    const held = await this.client.hold(this.call(run), { holdFor: 0, then: "leave" });
    return held.requestId as string;
  }
  async waiting(): Promise<PausedRun[]> {
    this.scans += 1;
    return [...this.paused].map(([id, requests]) => ({ id, requests }));
  }
  async find(id: string): Promise<PausedRun | undefined> {
    const requests = this.paused.get(id);
    return requests && { id, requests };
  }
  async goOn(run: string): Promise<void> {
    this.going += 1;
    this.most = Math.max(this.most, this.going);
    try {
      await this.before(run);
      const held = await this.client.hold(this.call(run), { holdFor: 0, then: "leave" });
      this.status.push(held.status);
      if (held.go) await held.run(() => this.ran.push(run));
      this.paused.delete(run);
    } finally {
      this.going -= 1;
    }
  }
}

let gateway: Gateway;
let store: Store;
let resumer: Resumer;
const errors: unknown[] = [];
beforeEach(() => {
  gateway = new Gateway();
  store = new Store(gateway.client());
  errors.length = 0;
});
afterEach(() => resumer?.close());

/** A resumer that works, and whether it has ended. */
function begin(options: ResumerOptions = {}): Promise<void> {
  resumer = new Resumer(store, { onError: (error) => errors.push(error), ...options });
  return resumer.run();
}
const until = (what: () => unknown) => expect.poll(what, { timeout: BOUND });

test("a run goes on when its request is decided, and a run that is denied is told so", async () => {
  for (const run of ["yes", "no"]) store.paused.set(run, [await store.pause(run)]);
  const working = begin();
  const [yes, no] = [store.paused.get("yes"), store.paused.get("no")].map((each) => each?.[0] as string);
  await until(() => store.scans).toBeGreaterThan(0);
  await gateway.decide(yes as string, approve());
  await gateway.decide(no as string, deny("no"));
  await until(() => store.paused.size).toBe(0);
  expect(store.ran).toEqual(["yes"]);
  expect(store.status.sort()).toEqual(["approved", "denied"]);
  await resumer.close();
  await working;
  expect(errors).toEqual([]);
});

test("what was decided before anybody listened is found at the start", async () => {
  const id = await store.pause("early");
  store.paused.set("early", [id]);
  await gateway.decide(id, approve());
  begin();
  await until(() => store.ran).toEqual(["early"]);
});

test("a run that is stored after its decision came goes on all the same", async () => {
  begin({ every: 50 });
  const id = await store.pause("late");
  await gateway.decide(id, approve());
  const { scans } = store;
  await until(() => store.scans).toBeGreaterThan(scans + 1);
  store.paused.set("late", [id]);
  await until(() => store.ran).toEqual(["late"]);
});

test("a run that its program names is looked at without a look at the store", async () => {
  begin({ every: "1h" });
  await until(() => store.scans).toBeGreaterThan(0);
  const id = await store.pause("named");
  await gateway.decide(id, approve());
  store.paused.set("named", [id]);
  resumer.look("named");
  await until(() => store.ran).toEqual(["named"]);
});

test("a run with two requests waits for both", async () => {
  const [one, two] = [await store.pause("both"), await store.pause("other")];
  store.paused.set("both", [one, two]);
  begin({ every: 20 });
  await gateway.decide(one, approve());
  const { scans } = store;
  await until(() => store.scans).toBeGreaterThan(scans + 3);
  expect(store.status).toEqual([]);
  await gateway.decide(two, deny());
  await until(() => store.ran).toEqual(["both"]);
});

test("no run is taken up twice at once, and no more than `atOnce` runs at a time", async () => {
  const ids = new Map<string, string>();
  for (let n = 0; n < 9; n += 1) ids.set(`r${n}`, await store.pause(`r${n}`));
  for (const [run, id] of ids) store.paused.set(run, [id]);
  const at: string[] = [];
  store.before = async (run) => {
    expect(at).not.toContain(run);
    at.push(run);
    resumer.look(run);
    await new Promise((done) => setTimeout(done, 20));
    at.splice(at.indexOf(run), 1);
  };
  begin({ atOnce: 3, every: 5 });
  for (const id of ids.values()) await gateway.decide(id, approve());
  await until(() => store.ran.length).toBe(9);
  expect(new Set(store.ran).size).toBe(9);
  expect(store.most).toBeLessThanOrEqual(3);
  await resumer.close();
  expect(errors).toEqual([]);
});

test("a run that breaks is tried again, and does not stop the others", async () => {
  for (const run of ["bad", "good"]) store.paused.set(run, [await store.pause(run)]);
  let broken = 2;
  store.before = (run) => {
    if (run !== "bad" || broken-- <= 0) return;
    throw new Error("the database is busy");
  };
  begin({ atOnce: 1, onError: (error, run) => errors.push([run, (error as Error).message]) });
  for (const { id } of gateway.requests) await gateway.decide(id, approve());
  await until(() => store.ran).toEqual(["good", "bad"]);
  expect(errors).toEqual([
    ["bad", "the database is busy"],
    ["bad", "the database is busy"],
  ]);
});

test("two processes that go on with one run run its call once, and the loser waits for the outcome", async () => {
  const id = await store.pause("shared");
  store.paused.set("shared", [id]);
  // The winner has claimed, and still runs.
  const winner = gateway.client();
  await gateway.decide(id, approve());
  const held = await winner.hold(store.call("shared"));
  expect(held.go).toBe(true);
  begin({ every: 20 });
  const { scans } = store;
  await until(() => store.scans).toBeGreaterThan(scans + 3);
  expect(store.status).toEqual([]);
  // It ends, and stores so.
  store.paused.delete("shared");
  await held.succeeded();
  await until(() => store.scans).toBeGreaterThan(store.scans);
  expect(store.status).toEqual([]);
});

test("a run whose permit was claimed by a process that is gone goes on under a lock, and does not run again", async () => {
  const id = await store.pause("gone");
  store.paused.set("gone", [id]);
  await gateway.decide(id, approve());
  expect((await gateway.client().hold(store.call("gone"))).go).toBe(true);
  begin({ lock: async () => async () => undefined });
  await until(() => store.status).toEqual(["unknown"]);
  expect(store.ran).toEqual([]);
});

test("a run that another process has locked is left alone until it lets go", async () => {
  const id = await store.pause("locked");
  store.paused.set("locked", [id]);
  await gateway.decide(id, approve());
  let [tried, free] = [0, false];
  begin({
    lock: async () => {
      tried += 1;
      return free ? async () => undefined : undefined;
    },
  });
  await until(() => tried).toBeGreaterThan(0);
  expect(store.ran).toEqual([]);
  free = true;
  await until(() => store.ran).toEqual(["locked"]);
});

test("an outage is waited out, and what was decided meanwhile is found", async () => {
  const id = await store.pause("away");
  store.paused.set("away", [id]);
  let down = false;
  const fetched: typeof fetch = async (target, init) => {
    if (down) throw new TypeError("fetch failed");
    return gateway.fetch(target as string, init);
  };
  store = Object.assign(new Store(gateway.client({ fetch: fetched, outageBudget: 50 })), {
    paused: store.paused,
  });
  down = true;
  begin({ every: "1h" });
  await until(() => errors.length).toBeGreaterThan(0);
  await gateway.decide(id, approve());
  down = false;
  await until(() => store.ran).toEqual(["away"]);
});

test("closing ends it when what is under way has ended, and nothing begins afterwards", async () => {
  for (const run of ["one", "two"]) store.paused.set(run, [await store.pause(run)]);
  let finish = () => {};
  store.before = () => new Promise<void>((done) => (finish = done));
  const working = begin({ atOnce: 1 });
  for (const { id } of gateway.requests) await gateway.decide(id, approve());
  await until(() => store.going).toBe(1);
  let closed = false;
  const closing = resumer.close().then(() => {
    closed = true;
  });
  await new Promise((done) => setTimeout(done, 50));
  expect(closed).toBe(false);
  finish();
  await closing;
  await working;
  expect(store.ran).toHaveLength(1);
  expect(store.paused.size).toBe(1);
});

test("a signal ends it, and a key that is refused rejects", async () => {
  const stop = new AbortController();
  resumer = new Resumer(store);
  const working = resumer.run(stop.signal);
  expect(() => resumer.run()).toThrow(/runs already/);
  stop.abort();
  await working;
  const stranger = Object.assign(new Store(gateway.client()), { paused: new Map() });
  Object.assign(stranger, {
    client: gateway.client({ fetch: async () => new Response("{}", { status: 401 }) }),
  });
  await expect(new Resumer(stranger, { onError: () => {} }).run()).rejects.toThrow(ConfigError);
});

test("wrong options are errors", () => {
  expect(() => new Resumer(store, { atOnce: 0 })).toThrow(ConfigError);
  expect(() => new Resumer(store, { onEror: 1 } as never)).toThrow(/did you mean "onError"/);
});

test("a file store keeps whole texts under any name, and forgets what is removed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "placet-store-"));
  const files = new FileStore(join(folder, "runs"));
  expect(await files.ids()).toEqual([]);
  expect(await files.read("none")).toBeUndefined();
  for (const name of ["chat-1", "../../etc/passwd", "a b*ü", "."]) await files.write(name, `of ${name}`);
  await files.write("chat-1", "again");
  expect((await files.ids()).sort()).toEqual(["../../etc/passwd", ".", "a b*ü", "chat-1"].sort());
  expect(await files.read("chat-1")).toBe("again");
  expect(await files.read("../../etc/passwd")).toBe("of ../../etc/passwd");
  await files.remove("chat-1");
  await files.remove("chat-1");
  expect(await files.read("chat-1")).toBeUndefined();
  expect(await readdir(folder)).toEqual(["runs"]);
  await expect(files.write("x".repeat(200), "")).rejects.toThrow(ConfigError);
  await rm(folder, { recursive: true });
});

test("a file lock is held by one at a time, and a process that was killed has let go", async () => {
  const folder = await mkdtemp(join(tmpdir(), "placet-lock-"));
  const lock = fileLock(folder);
  const release = await lock("run");
  expect(await lock("run")).toBeUndefined();
  expect(await lock("other")).toBeDefined();
  await release?.();
  const all = await Promise.all(Array.from({ length: 20 }, () => lock("run")));
  expect(all.filter((each) => each !== undefined)).toHaveLength(1);
  const sleeper = spawn(process.execPath, ["-e", "setTimeout(() => {}, 60000)"]);
  await writeFile(join(folder, "dead.lock.7"), `${sleeper.pid} `);
  sleeper.kill("SIGKILL");
  await new Promise((done) => sleeper.once("exit", done));
  expect(await lock("dead")).toBeDefined();
  await rm(folder, { recursive: true });
});
