// What the four programs share: a tool with an effect that can be counted, and what they say on the screen.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

/** `node PROGRAM FOLDER` goes on with paused runs; with names it first begins runs of those names. */
const [place, ...names] = process.argv.slice(2);
if (!place) throw new Error("say where to keep things: node PROGRAM FOLDER [RUN]…");
export const folder = place;

/** One more line in a file, on the disk before anything else happens. */
function note(name, line) {
  const file = openSync(join(folder, name), "a");
  writeSync(file, `${line}\n`);
  fsyncSync(file);
  closeSync(file);
}

export const description = "Sends money back";
export const schema = z.object({ order: z.string(), amount: z.number() });

/** Each run of the tool is a line in a file. */
export async function refund({ order, amount }) {
  note("effects", `${order} ${amount}`);
  // So that there is a moment to be killed in.
  await sleep(Number(process.env.SLOW ?? 0));
  return `refunded ${amount} for ${order}`;
}

/** What the scripted models ask for: one refund, in the name of the run. */
export const wanted = (run) => ({ order: run, amount: 120 });
export const callId = (run) => `call-${run}`;

const said = (what, run, more) => console.log(`${what} ${run}${more ? `: ${more}` : ""}`);
export const paused = (run, more) => said("paused", run, more);
/** A run has ended. It is written down, so that no other process begins it again. */
export function done(run, more) {
  note("done", run);
  said("done", run, more);
}
const ended = (run) =>
  existsSync(join(folder, "done")) && readFileSync(join(folder, "done"), "utf8").split("\n").includes(run);

/** Begins what is neither stored nor done, then goes on with what waits, until it is told to stop. Kill it when you like. */
export async function work(source, resumer, begin) {
  for (const run of names) if (!ended(run) && !(await source.find(run))) await begin(run);
  process.once("SIGTERM", () => resumer.close());
  console.log("working");
  const working = resumer.run();
  // With ONCE=1 it ends by itself when nothing waits any more.
  while (process.env.ONCE === "1" && [...(await source.waiting())].length > 0) await sleep(50);
  if (process.env.ONCE === "1") await resumer.close();
  await working;
}
