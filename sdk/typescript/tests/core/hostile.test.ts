/** A server that lies, in every way we know, meets the gate: nothing runs. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { Placet, PlacetError, session } from "../../src/index.js";
import { Hostile, type Mode } from "../support/hostile.js";
import { Effects } from "../support/server.js";

/** Ends a test that fails. What passes ends by itself, long before. */
const BOUND = 60_000;
/** Kilobytes that may come on top of what the process had before. */
const LARGEST = 300 * 1024;
const AT_ONCE = 32;

interface Ending {
  ran: number;
  said: string;
}

let hostile: Hostile;
let before: number;
const endings = new Map<string, Ending>();

beforeAll(async () => {
  hostile = await Hostile.start();
  before = process.resourceUsage().maxRSS;
  const waiting = [...hostile.modes];
  const worker = async () => {
    for (let mode = waiting.pop(); mode; mode = waiting.pop()) endings.set(mode.name, await ending(mode));
  };
  const over = new Promise<void>((done) => setTimeout(done, BOUND).unref());
  await Promise.race([Promise.all(Array.from({ length: AT_ONCE }, worker)), over]);
}, 2 * BOUND);
afterAll(() => hostile.stop());

/** What ends by itself has time: a busy machine must not end it in another way. */
const SAID = ["other_tool", "other_kind_after_wait", "digest_wrong", "wait_about_another"];
const patient = (mode: Mode) => mode.runs > 0 || mode.traits.includes("big") || SAID.includes(mode.name);
const holdFor = (mode: Mode) => (patient(mode) && !mode.name.startsWith("stream") ? 60_000 : 1_500);

/** One gated call in one mode, to its end. */
async function ending(mode: Mode): Promise<Ending> {
  const placet = new Placet({
    url: hostile.at(mode, "typescript"),
    token: "plk_agent_x",
    timeout: patient(mode) ? 20_000 : 1_000,
    outageBudget: 400,
    onUnreported: () => {},
  });
  const effects = new Effects();
  const remove = (args: { files: string[]; force: number }) => effects.run(args);
  const gated = placet.gate(remove, { tool: "delete_files", holdFor: holdFor(mode), onDenied: "raise" });
  try {
    await session("s1", () => gated({ files: ["a"], force: 7 }));
    return { ran: effects.count, said: "the call ran" };
  } catch (error) {
    if (!(error instanceof PlacetError)) throw error;
    return { ran: effects.count, said: `${error.name}: ${error.message}` };
  }
}

const wrong = (which: (mode: Mode) => boolean, good: (found: Ending | undefined, mode: Mode) => boolean) =>
  hostile.modes
    .filter((mode) => which(mode) && !good(endings.get(mode.name), mode))
    .map(({ name, lie }) => ({ name, lie, ...(endings.get(name) ?? { said: "it did not come to an end" }) }));

test("an honest answer runs the call once", () => {
  const controls = (mode: Mode) => mode.runs > 0;
  expect(hostile.modes.filter(controls).length).toBeGreaterThan(3);
  expect(wrong(controls, (found) => found?.ran === 1 && found.said === "the call ran")).toEqual([]);
});

test("nothing runs on a lie, and every lie comes to an end with a sentence", () => {
  const lies = (mode: Mode) => mode.runs === 0;
  expect(hostile.modes.filter(lies).length).toBeGreaterThan(150);
  expect(wrong(lies, (found) => found?.ran === 0 && found.said.includes(": "))).toEqual([]);
});

test("memory stays bounded, however much is sent", () => {
  expect(hostile.modes.filter((mode) => mode.traits.includes("big")).length).toBeGreaterThan(8);
  expect(process.resourceUsage().maxRSS - before).toBeLessThan(LARGEST);
});

test("a key is never carried to another host", async () => {
  expect(await hostile.seen("honest", "stolen")).toEqual([]);
});

test("a fetch that does not listen to its signal is not waited for", async () => {
  const deaf = new Placet({
    url: "http://127.0.0.1:1",
    token: "plk_agent_x",
    timeout: 50,
    outageBudget: 100,
    fetch: async () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) })),
  });
  expect((await deaf.hold({ tool: "t", arguments: {}, session: "s1" })).status).toBe("unreachable");
});

test("a confirmation runs on no lie either", async () => {
  const asked = async (name: string) => {
    const mode = hostile.modes.find((each) => each.name === name) as Mode;
    const url = hostile.at(mode, "confirmation");
    const placet = new Placet({
      url,
      token: "plk_agent_x",
      timeout: patient(mode) ? 20_000 : 1_000,
      outageBudget: 100,
    });
    try {
      return (await placet.confirm("Go live?", { session: "s1", holdFor: holdFor(mode) })).go;
    } catch (error) {
      if (error instanceof PlacetError) return false;
      throw error;
    }
  };
  expect(await Promise.all(["honest", "honest_after_wait"].map(asked))).toEqual([true, true]);
  const lies = [
    "no_decision",
    "decision_deny",
    "digest_wrong",
    "decision_digest_wrong",
    "other_kind_same_digest",
  ];
  lies.push("wait_about_another", "state_twice", "unknown_decision", "unknown_state", "stream_about_another");
  expect(await Promise.all(lies.map(asked))).toEqual(lies.map(() => false));
});

test("what is wrong with an answer is said", () => {
  for (const name of ["other_tool", "other_kind_after_wait", "digest_wrong"]) {
    expect(endings.get(name)?.said, name).toContain("what was approved is not what was asked for here");
  }
  expect(endings.get("wait_about_another")?.said).toMatch(/^WrongAnswer: the server answered about another/);
  expect(endings.get("endless_body")?.said).toMatch(/^WrongAnswer: .* longer than 4 MiB/);
});
