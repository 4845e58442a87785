/** Agents with paused runs are killed at random moments and started again, until nothing waits any more. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RequestRecord } from "../../src/index.js";
import { Copy, Lives, type Program } from "./lives.js";
import { onStage } from "./stage.js";

const LONG = process.env.PLACET_LONG === "1";
const ROUNDS = Number(process.env.PLACET_ROUNDS ?? (LONG ? 150 : 3));
const PROGRAM = (process.env.PLACET_ROUNDS_OF ?? "vercel-ai") as Program;
/** Runs in each round, and rounds at a time. */
const RUNS = 3;
const LANES = 2;

const stage = onStage();
let copy: Copy;
beforeAll(async () => {
  copy = await Copy.make();
});
afterAll(() => copy?.remove());

const orderOf = (record: RequestRecord) => String(record.arguments?.order);

/** A person who decides whatever waits, one time in five against it. */
function deciding(): { stop: () => Promise<void> } {
  let going = true;
  const work = (async () => {
    while (going) {
      const { items } = await stage.ann.client.list({ state: "pending", limit: "100" });
      for (const { id, digest, version } of items) {
        const word = Math.random() < 0.2 ? "deny" : "approve";
        await stage.ann.client.decide(id, word, { digest, version }).catch(() => undefined);
      }
      await new Promise((done) => setTimeout(done, Math.random() * 100));
    }
  })();
  return {
    stop: async () => {
      going = false;
      await work;
    },
  };
}

/** How long a life takes that is left alone, as far as is known: moments to be killed are chosen within that. */
let alone = 1_500;

async function round(number: number): Promise<{ kills: number; effects: string[]; left: string[] }> {
  const runs = Array.from({ length: RUNS }, (_, at) => `round-${number}-${at}`);
  const lives = await Lives.begin(copy, PROGRAM, stage.server);
  let kills = 0;
  for (let life = 0; ; life += 1) {
    const began = performance.now();
    lives.start(runs, { ONCE: "1", SLOW: "150" });
    // The fourth is left to finish.
    const timer = life < 3 ? setTimeout(() => void lives.kill(), Math.random() * alone) : undefined;
    const code = await lives.ended();
    clearTimeout(timer);
    if (code === 0) {
      alone = (alone + performance.now() - began) / 2;
      break;
    }
    expect(code, lives.errors).toBeUndefined();
    kills += 1;
  }
  const effects = await lives.effects();
  const names = await readdir(join(lives.folder, "runs")).catch(() => []);
  await lives.close();
  return { kills, effects, left: names.filter((each) => each.endsWith(".json")) };
}

test(`${PROGRAM}: no call runs twice, none undecided, and nothing approved is lost, however often the agent is killed`, async () => {
  const person = deciding();
  const seen = { rounds: ROUNDS, kills: 0, ran: 0, twice: 0, undecided: 0, lost: 0, left: 0 };
  const ran = new Map<string, number>();
  let next = 0;
  const lane = async () => {
    while (next < ROUNDS) {
      next += 1;
      const { kills, effects, left } = await round(next);
      seen.kills += kills;
      seen.left += left.length;
      for (const line of effects) {
        const order = line.split(" ")[0] as string;
        ran.set(order, (ran.get(order) ?? 0) + 1);
      }
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  await person.stop();
  const records = new Map<string, RequestRecord[]>();
  let cursor: string | undefined;
  do {
    const page = await stage.ann.client.list({ limit: "100", cursor });
    for (const each of page.items) records.set(orderOf(each), [...(records.get(orderOf(each)) ?? []), each]);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  for (const [order, times] of ran) {
    seen.ran += times;
    if (times > 1) seen.twice += 1;
    const yes = records.get(order)?.some(({ decision, claim }) => decision?.decision === "approve" && claim);
    if (!yes) seen.undecided += 1;
  }
  const states: Record<string, number> = {};
  for (const { state, decision } of [...records.values()].flat()) {
    states[state] = (states[state] ?? 0) + 1;
    const used = ["claimed", "succeeded", "failed", "unknown"].includes(state);
    if (decision?.decision === "approve" && !used) seen.lost += 1;
  }
  console.log(`${PROGRAM}: ${JSON.stringify({ ...seen, requests: states })}`);
  expect(seen).toMatchObject({ twice: 0, undecided: 0, lost: 0, left: 0 });
  expect(records.size).toBe(ROUNDS * RUNS);
  // The rounds are worth something only if agents were killed, and calls ran all the same. Whether a moment meets one is
  // chance: in a few rounds it may meet none.
  if (LONG) expect(seen.kills).toBeGreaterThan(ROUNDS / 4);
  expect(seen.ran).toBeGreaterThan(0);
}, 7_200_000);
