/** Whose a call is comes from the session around it, whoever names that session, and stays known when a run is resumed. */
import { expect, test } from "vitest";
import { type AdapterOptions, Gate } from "../../src/adapters/common.js";
import { type RunDriver, StoredRuns } from "../../src/adapters/stored-runs.js";
import { type RequestRecord, session } from "../../src/index.js";
import { Resumer, type ResumeSource, type RunStore } from "../../src/resume/index.js";
import { approve, Gateway } from "../../src/testing/index.js";
import { BOUND } from "../support/server.js";

const ALICE = { user: "alice", tenant: "acme", app: "shop" };
const call = { tool: "t", arguments: { n: 1 }, callId: "call-1" };

test.each<[string, AdapterOptions, { session?: string }]>([
  ["the gate", { session: "shared" }, {}],
  ["the framework", {}, { session: "shared" }],
  ["the session around it", {}, {}],
])("where %s names the session, the call is still of the user around it", async (_, options, more) => {
  const gateway = new Gateway();
  const gate = () => new Gate("memory", { client: gateway.client(), mode: "pause", ...options });
  const asked = async (parts: object) =>
    session({ id: "shared", ...parts }, async () => (await gate().ask({ ...call, ...more })).id);
  const alice = await asked(ALICE);
  await gateway.decide(alice, approve());
  for (const other of [
    {},
    { ...ALICE, user: "bob" },
    { ...ALICE, tenant: "other" },
    { ...ALICE, app: "other" },
  ])
    expect([other, await asked(other)]).not.toEqual([other, alice]);
  expect(await asked(ALICE)).toBe(alice);
  expect(gateway.requests[0]).toMatchObject({ session: "shared", context: ALICE });
});

/** Runs that pause at one call, in a store of their own. */
function stored(gateway: Gateway, kept = new Map<string, string>()) {
  const store: RunStore = {
    ids: async () => [...kept.keys()],
    read: async (run) => kept.get(run),
    write: async (run, text) => void kept.set(run, text),
    remove: async (run) => void kept.delete(run),
  };
  const client = gateway.client({ outageBudget: 20 });
  const ran: unknown[] = [];
  const player = async (): Promise<RunDriver<string, string>> => {
    const gate = new Gate("memory", { client, mode: "pause" });
    return {
      begin: async () => ({ state: "paused" }),
      ask: async () => [await gate.ask(call)],
      async goOn(state) {
        const ruling = await gate.rule(call, true);
        if (!ruling.go) return { state };
        return { output: await gate.run(ruling.held, (args) => `ran ${ran.push(args)}`) };
      },
    };
  };
  return { kept, ran, runs: new StoredRuns("memory", { client, store }, player, {}) };
}

test("two users with runs of one name have a request each, and each goes on with their own", async () => {
  const gateway = new Gateway();
  const [alice, bob] = [stored(gateway), stored(gateway)];
  await session({ id: "x", ...ALICE }, () => alice.runs.start("run", "go"));
  await session({ id: "x", ...ALICE, user: "bob" }, () => bob.runs.start("run", "go"));
  expect(gateway.requests.map(({ session: of, context }) => [of, context?.user])).toEqual([
    ["run", "alice"],
    ["run", "bob"],
  ]);
  await gateway.decide((gateway.requests[0] as RequestRecord).id, approve());
  // Without a session around it, as a resumer does.
  await bob.runs.goOn("run");
  await alice.runs.goOn("run");
  expect([alice.ran, bob.ran]).toEqual([[call.arguments], []]);
  expect(gateway.requests).toHaveLength(2);
});

test("a run that was stored before anybody was asked is asked about for its user", async () => {
  const gateway = new Gateway();
  const { kept, runs } = stored(gateway);
  gateway.down = true;
  await expect(session({ id: "x", ...ALICE }, () => runs.start("run", "go"))).rejects.toThrow();
  gateway.down = false;
  const later = stored(gateway, kept);
  expect((await later.runs.find("run"))?.requests).toHaveLength(1);
  expect(gateway.requests).toMatchObject([{ session: "run", context: ALICE }]);
});

test("a resumer goes on in the session that the request was made in", async () => {
  const gateway = new Gateway({ decide: approve });
  const client = gateway.client();
  const gate = () => new Gate("memory", { client, mode: "pause" });
  const parts = { id: "s", ...ALICE, agent: "a", turn: "t", invocation: "i", lineage: ["p"] };
  const { id } = await session(parts, () => gate().ask(call));
  const waits = new Set(["run"]);
  const found = () => [...waits].map((run) => ({ id: run, requests: [id] }));
  const went: unknown[] = [];
  const source: ResumeSource = {
    client,
    framework: "memory",
    waiting: async () => found(),
    find: async () => found()[0],
    async goOn(run) {
      const ruling = await gate().rule(call, true);
      went.push(ruling.go && ruling.held.requestId);
      waits.delete(run);
    },
  };
  const resumer = new Resumer(source);
  const working = resumer.run();
  await expect.poll(() => went, { timeout: BOUND }).toEqual([id]);
  await resumer.close();
  await working;
  expect(gateway.requests).toHaveLength(1);
});
