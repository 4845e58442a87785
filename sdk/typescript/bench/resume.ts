/**
 * Approve -> resume. 200 calls wait on one stream; a person approves one after the other, and the time from sending the
 * decision until the waiting call has its permit is measured. Beside it, the same with a bare long poll and a bare claim.
 *
 *   PLACET_BIN=… npm run bench:resume
 */
import { Placet } from "../src/index.js";
import { Server } from "../tests/support/server.js";
import { figures, interleaved, say } from "./figures.js";

const WAITERS = Number(process.env.WAITERS ?? 200);
const server = await Server.start();
const ann = await server.reviewer();
const bot = server.agent();
const token = server.agentKey;

/** When each call had its permit. */
const resumed = new Map<string, number>();

async function raw(id: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  let state = "pending";
  while (state === "pending") {
    const answer = await fetch(`${server.url}/v1/requests/${id}?wait=25s`, { headers });
    state = ((await answer.json()) as { state: string }).state;
  }
  const body = JSON.stringify({ claimant: crypto.randomUUID() });
  const claimed = await fetch(`${server.url}/v1/requests/${id}/claim`, { method: "POST", headers, body });
  await claimed.json();
  resumed.set(id, performance.now());
}

const ids: string[] = [];
const done: Promise<unknown>[] = [];
for (let n = 0; n < WAITERS; n += 1) {
  const strong = `bench-${n}`;
  const call = { tool: "bench.held", arguments: { n }, session: "bench", keys: { strong } };
  const { id } = await bot.create(
    { kind: "action", tool: call.tool, arguments: call.arguments, session: "bench" },
    { key: strong },
  );
  ids.push(id);
  done.push(bot.hold(call).then(() => resumed.set(id, performance.now())));
}
while (bot.waiting.state.waiting < WAITERS) await new Promise((go) => setTimeout(go, 50));
await new Promise((go) => setTimeout(go, 1_000));

const took = async (id: string) => {
  const { digest, version } = await ann.client.get(id);
  const began = performance.now();
  await ann.client.decide(id, "approve", { digest, version });
  while (!resumed.has(id)) await new Promise((go) => setImmediate(go));
  return (resumed.get(id) as number) - began;
};

// One of each in turn, so that whatever else the machine does falls on both alike.
const alone = new Placet({ url: server.url, token });
const [shared, bare] = await interleaved(
  WAITERS,
  (n) => took(ids[n] as string),
  async (n) => {
    const { id } = await alone.create({
      kind: "action",
      tool: "bench.raw",
      arguments: { n },
      session: "bench",
    });
    const waiting = raw(id);
    await new Promise((go) => setTimeout(go, 20));
    const time = await took(id);
    await waiting;
    return time;
  },
);
await Promise.all(done);
say(`approve -> resume, ${WAITERS} calls on one stream`, figures(shared));
say("approve -> resume, one bare long poll and claim", figures(bare));
console.log(`ratio of the medians: ${(figures(shared).p50 / figures(bare).p50).toFixed(2)}`);
await server.stop();
