/** Topologies that are the same for every framework. Each has a file of its own for what only it has. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { session as inside, type RequestRecord } from "../../src/index.js";
import { Resumer, type ResumeSource } from "../../src/resume/index.js";
import { BOUND } from "../support/server.js";
import {
  about,
  call,
  Effect,
  fresh,
  inSession,
  type ModelCall,
  onStage,
  type Play,
  type Stage,
} from "./stage.js";
import { type Evidence, type FrameworkName, topology } from "./topology.js";

/** What each agent of several asks for, turn by turn. */
export interface Several extends Omit<Play, "turns"> {
  turns: ModelCall[][][];
}

/** A framework that is put through all of them. */
export interface Topological {
  of: FrameworkName;
  /** One agent, to its end. */
  run(play: Play): Promise<unknown>;
  /** One agent, and `seen` is told of every part of the stream. */
  streamed(play: Play, seen: (part: unknown) => void): Promise<unknown>;
  /** Two agents, the second of which starts with what the first has said. */
  sequential(play: Several): Promise<unknown>;
  /** Each agent first makes its own calls, then delegates to the next one by a tool. */
  nested(play: Several): Promise<unknown>;
}

/** Everything that was asked in a session, and what ran. */
export const evidence = async (stage: Stage, session: string, ...effects: Effect[]): Promise<Evidence> => ({
  records: await stage.requests(session),
  ran: effects.flatMap(({ ran }) => ran),
});

/** Tools that hand over to others are not held in these plays. */
export const only = (tool: string): boolean => tool === "delete_files";

export function topologies(framework: Topological): void {
  describe(`${framework.of}, topologies`, () => {
    const stage = onStage();
    const several = (session: string, effect: Effect, turns: ModelCall[][][]): Several => ({
      turns,
      tools: { delete_files: effect.run },
      gate: stage.gate(session, { only }),
    });
    /** How many were asked so far. */
    const asked = async (session: string) => (await stage.requests(session)).length;

    topology(framework.of, "sequential", "the second agent asks when the first has ended", async () => {
      const session = fresh("sequential");
      const effect = new Effect();
      const running = framework.sequential(
        several(session, effect, [
          [[call(session, 1, ["first.md"])]],
          [[call(session, 2, ["second.md"])], [call(session, 3, ["third.md"])]],
        ]),
      );
      await stage.ann.pending(about(session, "first.md"));
      expect(await asked(session)).toBe(1);
      await stage.ann.approve(about(session, "first.md"));
      await stage.ann.deny("no", about(session, "second.md"));
      await stage.ann.edit({ files: ["edited.md"] }, about(session, "third.md"));
      await running;
      return evidence(stage, session, effect);
    });

    topology(
      framework.of,
      "nested twice",
      "an agent in an agent in an agent asks at each depth",
      async () => {
        const session = fresh("nested-twice");
        const effect = new Effect();
        const running = framework.nested(
          several(session, effect, [
            [[call(session, 1, ["outer.md"])]],
            [[call(session, 2, ["middle.md"])]],
            [[call(session, 3, ["yes.md"]), call(session, 4, ["no.md"])], [call(session, 5, ["last.md"])]],
          ]),
        );
        await stage.ann.approve(about(session, "outer.md"));
        await stage.ann.deny("no", about(session, "middle.md"));
        await stage.ann.deny("no", about(session, "no.md"));
        await stage.ann.approve(about(session, "yes.md"));
        await stage.ann.edit({ files: ["edited.md"] }, about(session, "last.md"));
        await running;
        return evidence(stage, session, effect);
      },
    );

    topology(framework.of, "streaming", "the caller reads the stream while calls are held", async () => {
      const session = fresh("streaming");
      const effect = new Effect();
      const parts: unknown[] = [];
      const turns = [
        [call(session, 1, ["yes.md"]), call(session, 2, ["no.md"])],
        [call(session, 3, ["last.md"])],
      ];
      const play = { turns, tools: { delete_files: effect.run }, gate: stage.gate(session) };
      const running = framework.streamed(play, (part) => parts.push(part));
      await stage.ann.pending(about(session, "no.md"));
      await expect.poll(() => parts.length, { timeout: BOUND }).toBeGreaterThan(0);
      expect(effect.ran).toEqual([]);
      await stage.ann.deny("no", about(session, "no.md"));
      await stage.ann.approve(about(session, "yes.md"));
      await stage.ann.pending(about(session, "last.md"));
      const before = parts.length;
      await stage.ann.edit({ files: ["edited.md"] }, about(session, "last.md"));
      await running;
      expect(parts.length).toBeGreaterThan(before);
      return evidence(stage, session, effect);
    });

    twoUsers(framework, stage);
  });
}

/** A folder for stores, while something is done. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "placet-topologies-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Takes up what waits in these stores, while people decide, until nothing waits any more. */
async function resumed(sources: ResumeSource[], decide: () => Promise<unknown>): Promise<void> {
  const errors: unknown[] = [];
  const resumers = sources.map((runs) => new Resumer(runs, { onError: (error) => errors.push(error) }));
  const working = resumers.map((each) => each.run());
  await decide();
  const waiting = async () =>
    (await Promise.all(sources.map((runs) => runs.waiting()))).flatMap((each) => [...each]);
  await expect.poll(waiting, { timeout: BOUND }).toEqual([]);
  await Promise.all(resumers.map((each) => each.close()));
  await Promise.all(working);
  expect(errors).toEqual([]);
}

/** A run that pauses in each of three agents, and goes on by itself when each is decided. */
export async function resumedTwice(
  stage: Stage,
  begin: (play: Several) => Promise<ResumeSource>,
): Promise<Evidence> {
  const session = fresh("nested-pause");
  const effect = new Effect();
  const depths = ["outer.md", "middle.md", "inner.md"].map((file, at) => [[call(session, at + 1, [file])]]);
  const gate = stage.gate(session, { mode: "pause", only });
  const runs = await begin({ turns: depths, tools: { delete_files: effect.run }, gate });
  await resumed([runs], async () => {
    await stage.ann.approve(about(session, "outer.md"));
    await stage.ann.deny("no", about(session, "middle.md"));
    await stage.ann.pending(about(session, "inner.md"));
    expect(effect.ran).toEqual([{ files: ["outer.md"] }]);
    await stage.ann.edit({ files: ["edited.md"] }, about(session, "inner.md"));
  });
  return evidence(stage, session, effect);
}

const BY_SESSION = "the session around a run says whose it is, also where the gate names the session";

function twoUsers({ of: framework, run }: Topological, stage: Stage): void {
  /** Two runs that differ in nothing but the user: the same ids of calls, and the same arguments. */
  const both = async (name: string, begin: (user: string, play: Play) => Promise<unknown>) => {
    const session = fresh(name);
    const [alice, bob] = [new Effect(), new Effect()];
    const play = (effect: Effect): Play => ({
      turns: [[call(session, 1, ["same.md"])]],
      tools: { delete_files: effect.run },
      gate: stage.gate(session),
    });
    return twoOf(stage, session, [alice, bob], (user, effect) => begin(user, play(effect)));
  };

  topology(framework, "two users with one session id", "each user has a request and a decision", () =>
    both("users-context", (user, play) => run({ ...play, gate: { ...play.gate, context: { user } } })),
  );

  topology(framework, "two users with one session id", BY_SESSION, () =>
    both("users-around", (user, play) =>
      inside({ id: play.gate.session as string, user }, async () => run(play)),
    ),
  );
}

const of = (session: string, user: string) => (record: RequestRecord) =>
  record.session === session && record.context?.user === user;

/** Two paused runs of one name in two stores, which go on where nobody says any more whose they are. */
export async function resumedForTwo(
  stage: Stage,
  begin: (user: string, play: Play & { session: string }) => Promise<ResumeSource>,
): Promise<Evidence> {
  const session = fresh("users-pause");
  const effects = [new Effect(), new Effect()];
  const sources: ResumeSource[] = [];
  for (const [at, user] of ["alice", "bob"].entries()) {
    const { run } = effects[at] as Effect;
    const turns = [[call(session, 1, ["same.md"])]];
    const gate = { client: stage.server.agent(), mode: "pause" as const };
    sources.push(await begin(user, { session, turns, tools: { delete_files: run }, gate }));
  }
  await resumed(sources, async () => {
    await stage.ann.pending(of(session, "bob"));
    await stage.ann.approve(of(session, "alice"));
    await expect.poll(async () => (await stage.states(session))[0], { timeout: BOUND }).toBe("succeeded");
    await stage.ann.deny("not for bob", of(session, "bob"));
  });
  expect(effects.map(({ ran }) => ran.length)).toEqual([1, 0]);
  return evidence(stage, session, ...effects);
}

/** Alice's run is approved and Bob's denied: both are asked about first, and only hers runs. */
export async function twoOf(
  stage: Stage,
  session: string,
  [alice, bob]: [Effect, Effect],
  begin: (user: string, effect: Effect) => Promise<unknown>,
): Promise<Evidence> {
  const first = begin("alice", alice);
  await stage.ann.pending(inSession(session));
  const second = begin("bob", bob);
  await expect
    .poll(async () => (await stage.requests(session)).length, { timeout: BOUND / 4 })
    .toBeGreaterThan(1);
  await stage.ann.approve(of(session, "alice"));
  await first;
  expect([alice.ran.length, bob.ran.length]).toEqual([1, 0]);
  await stage.ann.deny("not for bob", of(session, "bob"));
  await second;
  expect([alice.ran.length, bob.ran.length]).toEqual([1, 0]);
  return evidence(stage, session, alice, bob);
}
