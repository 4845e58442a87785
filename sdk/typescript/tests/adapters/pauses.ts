/** The same facts about every framework whose run can end while a call is undecided. */
import { describe, expect, test } from "vitest";
import type { AdapterOptions } from "../../src/adapters/common.js";
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
  type Told,
} from "./stage.js";
import { type FrameworkName, topology } from "./topology.js";

export interface PausePlay extends Pick<Play, "turns" | "tools"> {
  session: string;
  /** Options with a client of their own each time, as every process has one. */
  gate: () => AdapterOptions;
}

/** A run that has ended with its calls undecided. */
export interface Paused {
  /** Goes on as another process would, and says what the model was told there. Nothing while it stays paused. */
  resume(): Promise<Told | undefined>;
  /** Goes on with an approval in the framework's own words, which nobody gave. */
  forge(): Promise<Told | undefined>;
}

/** A framework that can pause, with a scripted model. */
export interface Pausing {
  name: string;
  /** Its column in the table of topologies. */
  of?: FrameworkName;
  /** Runs an agent until it pauses, and sees that the framework says so. */
  start(play: PausePlay): Promise<Paused>;
  /** The same around an agent inside an agent, which is called with the id `<session>-delegate`. */
  nested?: (play: PausePlay) => Promise<Paused>;
  /** What an approval comes to that was forged before anybody decided. */
  forged: "waits" | "pauses again";
  /** Whether one pause can be resumed several times. */
  repeatable?: boolean;
  /** Whether a run goes on with what is decided while other calls of the turn are not. */
  piecemeal?: boolean;
}

/** A run that pauses at one call, unless its turns are others. */
export const toPause = (
  stage: Stage,
  session: string,
  effect: Effect,
  turns: ModelCall[][] = [[call(session, 1, ["a.md"])]],
  more: AdapterOptions = {},
): PausePlay => ({
  session,
  turns,
  tools: { delete_files: effect.run },
  gate: () => stage.gate(session, { mode: "pause", ...more }),
});

export function pauses(framework: Pausing): void {
  describe(`${framework.name}, pausing`, () => {
    const stage = onStage();

    test("a run ends while nobody has decided, and goes on in another process when somebody has", async () => {
      const session = fresh("pause");
      const effect = new Effect();
      const { resume } = await framework.start(toPause(stage, session, effect));
      expect(await resume()).toBeUndefined();
      expect(effect.ran).toEqual([]);
      await stage.ann.approve(inSession(session));
      expect((await resume())?.get(`${session}-1`)).toContain("deleted");
      expect(effect.ran).toEqual([{ files: ["a.md"] }]);
      expect(await stage.states(session)).toEqual(["succeeded"]);
    });

    if (framework.repeatable) {
      test("a run that is resumed twice runs its call once", async () => {
        const session = fresh("pause-twice");
        const effect = new Effect();
        const { resume } = await framework.start(toPause(stage, session, effect));
        await stage.ann.approve(inSession(session));
        expect((await resume())?.get(`${session}-1`)).toContain("deleted");
        expect((await resume())?.get(`${session}-1`)).toContain("unknown");
        expect(effect.ran).toEqual([{ files: ["a.md"] }]);
        expect(await stage.states(session)).toEqual(["succeeded"]);
      });
    }

    test("an edit is what runs after the pause", async () => {
      const session = fresh("pause-edit");
      const effect = new Effect();
      const { resume } = await framework.start(toPause(stage, session, effect));
      await stage.ann.edit({ files: ["b.md"] }, inSession(session));
      expect((await resume())?.get(`${session}-1`)).toContain("executed_arguments");
      expect(effect.ran).toEqual([{ files: ["b.md"] }]);
    });

    test("a denial reaches the model, and nothing runs", async () => {
      const session = fresh("pause-deny");
      const effect = new Effect();
      const { resume } = await framework.start(toPause(stage, session, effect));
      await stage.ann.deny("not this year", inSession(session));
      expect((await resume())?.get(`${session}-1`)).toContain("not this year");
      expect(effect.ran).toEqual([]);
    });

    test("an approval forged after a denial does not help", async () => {
      const session = fresh("pause-forged");
      const effect = new Effect();
      const { resume, forge } = await framework.start(toPause(stage, session, effect));
      await stage.ann.deny("not this year", inSession(session));
      for (const goOn of framework.repeatable ? [forge, resume, forge] : [forge]) {
        expect((await goOn())?.get(`${session}-1`)).toContain("not this year");
        expect(effect.ran).toEqual([]);
      }
    });

    /** Forges an approval before anybody has decided, then decides: what the model is told of the call in the end. */
    const early = async (session: string, effect: Effect, decide: () => Promise<unknown>) => {
      const { forge } = await framework.start(toPause(stage, session, effect));
      const forging = forge();
      if (framework.forged === "pauses again") expect(await forging).toBeUndefined();
      else await stage.fence();
      expect(effect.ran).toEqual([]);
      await decide();
      const told = await (framework.forged === "pauses again" ? forge() : forging);
      return told?.get(`${session}-1`);
    };

    test("an approval forged before anybody decided runs nothing when the call is denied", async () => {
      const session = fresh("pause-early-deny");
      const effect = new Effect();
      const told = await early(session, effect, () => stage.ann.deny("not this year", inSession(session)));
      expect(told).toMatch(/denied.*not this year/s);
      expect(effect.ran).toEqual([]);
    });

    test("an approval forged before anybody decided runs the call once, when it is approved", async () => {
      const session = fresh("pause-early");
      const effect = new Effect();
      const told = await early(session, effect, () => stage.ann.approve(inSession(session)));
      expect(told).toContain("deleted");
      expect(effect.ran).toEqual([{ files: ["a.md"] }]);
      expect(await stage.states(session)).toEqual(["succeeded"]);
    });

    topology(
      framework.of,
      "parallel",
      "two calls of one turn pause together, and each has its own decision",
      async () => {
        const session = fresh("pause-two");
        const effect = new Effect();
        const turns = [[call(session, 1, ["yes.md"]), call(session, 2, ["no.md"])]];
        const { resume } = await framework.start(toPause(stage, session, effect, turns));
        await stage.ann.approve(about(session, "yes.md"));
        if (!framework.piecemeal) {
          expect(await resume()).toBeUndefined();
          expect(effect.ran).toEqual([]);
        }
        await stage.ann.deny("no", about(session, "no.md"));
        const told = await resume();
        expect(effect.ran).toEqual([{ files: ["yes.md"] }]);
        expect(told?.get(`${session}-1`)).toContain("deleted");
        expect(told?.get(`${session}-2`)).toContain("denied");
        return { records: await stage.requests(session), ran: effect.ran };
      },
    );

    const { nested } = framework;
    if (nested) {
      test("an agent inside an agent pauses both, and both go on", async () => {
        const session = fresh("pause-nested");
        const effect = new Effect();
        const { resume } = await nested(toPause(stage, session, effect));
        expect(effect.ran).toEqual([]);
        await stage.ann.approve(inSession(session));
        const told = await resume();
        expect(effect.ran).toEqual([{ files: ["a.md"] }]);
        expect(told?.get(`${session}-1`)).toContain("deleted");
        expect(told?.get(`${session}-delegate`)).toContain("done");
        expect(await stage.states(session)).toEqual(["succeeded"]);
      });
    }
  });
}
