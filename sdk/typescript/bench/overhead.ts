/**
 * What a call that policy allows costs: `run` (create and claim in one call, then the report) beside bare calls of fetch
 * that do the same, and beside the first of them alone. `run` with the report in the background is compared with one bare
 * call: its report is on its way while the next thing is measured, as in a program that makes one call after the other.
 *
 *   PLACET_BIN=… npm run bench:overhead
 */
import { loadavg } from "node:os";
import { Server } from "../tests/support/server.js";
import { figures, interleaved, say } from "./figures.js";

const CALLS = Number(process.env.CALLS ?? 300);
const server = await Server.start();
const bot = server.agent();
const behind = server.agent({ report: "background" });
const headers = { authorization: `Bearer ${server.agentKey}`, "content-type": "application/json" };
const post = async (path: string, body: unknown, more: { [name: string]: string } = {}) => {
  const init = { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) };
  return (await (await fetch(server.url + path, init)).json()) as { id: string; permit: string };
};
const timed = async (run: () => Promise<unknown>) => {
  const began = performance.now();
  await run();
  return performance.now() - began;
};
const create = (n: number) =>
  post(
    "/v1/requests?claim=true",
    { kind: "action", tool: "free.raw", arguments: { n }, session: "bench" },
    { "idempotency-key": crypto.randomUUID(), "placet-claimant": crypto.randomUUID() },
  );

const call = (n: number) => ({ tool: "free.sdk", arguments: { n }, session: "bench" });
for (let n = 0; n < 30; n += 1) {
  await bot.run(call(n), () => n);
  await behind.run(call(n), () => n);
  await create(n);
}
await behind.flush();
const [whole, held, both, first, background, settled] = await interleaved(
  CALLS,
  (n) => timed(() => bot.run(call(n), () => n)),
  (n) => timed(() => bot.hold(call(n))),
  (n) =>
    timed(async () => {
      const { id, permit } = await create(n);
      await post(`/v1/requests/${id}/outcome`, { permit, status: "succeeded" });
    }),
  (n) => timed(() => create(n)),
  (n) => timed(() => behind.run(call(n), () => n)),
  async (n) => {
    await behind.flush();
    const took = await timed(() => behind.run(call(n), () => n));
    await behind.flush();
    return took;
  },
);
say("run: ask, claim, run, report", figures(whole));
say("bare fetch: the same two calls", figures(both));
say("run, report in the background", figures(background));
say("the same, with no other report on its way", figures(settled));
say("hold: ask and claim", figures(held));
say("bare fetch: the same call", figures(first));
const over = (a: number[], b: number[]) =>
  `${(figures(a).p50 - figures(b).p50).toFixed(2)} ms, ratio ${(figures(a).p50 / figures(b).p50).toFixed(2)}`;
console.log(`run over bare calls: ${over(whole, both)}`);
console.log(`run with the report in the background over a bare call: ${over(background, first)}`);
console.log(`the same, with no other report on its way: ${over(settled, first)}`);
console.log(`hold over a bare call: ${over(held, first)}`);
console.log(
  `load of the machine: ${loadavg()
    .map((each) => each.toFixed(1))
    .join(" ")}`,
);
await server.stop();
