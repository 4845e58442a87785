/** The same facts about every framework that holds a call inside the run. */
import { describe, expect, test } from "vitest";
import { Placet } from "../../src/index.js";
import { BOUND, nowhere } from "../support/server.js";
import { about, call, Effect, type Framework, fresh, inSession, onStage, type Play } from "./stage.js";
import { topology } from "./topology.js";

export function scenarios(framework: Framework): void {
  describe(`${framework.name}, holding calls`, () => {
    const stage = onStage();
    const play = (session: string, effect: Effect, more: Partial<Play> = {}): Play => ({
      turns: [[call(session, 1, ["a.md"])]],
      tools: { delete_files: effect.run },
      gate: stage.gate(session),
      ...more,
    });

    test("an approved call runs once, and its outcome is on record", async () => {
      const session = fresh("approve");
      const effect = new Effect();
      const running = framework.run(play(session, effect));
      const asked = await stage.ann.pending(inSession(session));
      const tool = framework.named?.("delete_files") ?? "delete_files";
      expect(asked).toMatchObject({ tool, arguments: { files: ["a.md"] }, session });
      expect(asked.context).toMatchObject({ call_id: `${session}-1` });
      expect(effect.ran).toEqual([]);
      await stage.ann.approve(asked.id);
      const told = await running;
      expect(effect.ran).toEqual([{ files: ["a.md"] }]);
      expect(told.get(`${session}-1`)).toContain("deleted");
      expect(await stage.states(session)).toEqual(["succeeded"]);
    });

    test("a denied call never runs, and the model is told why", async () => {
      const session = fresh("deny");
      const effect = new Effect();
      const running = framework.run(play(session, effect));
      await stage.ann.deny("not on a Friday", inSession(session));
      const told = await running;
      expect(effect.ran).toEqual([]);
      expect(told.get(`${session}-1`)).toMatch(/denied.*not on a Friday/s);
    });

    test("an edited call runs with the replacement, and the model is told what ran", async () => {
      const session = fresh("edit");
      const effect = new Effect();
      const running = framework.run(play(session, effect));
      await stage.ann.edit({ files: ["b.md", "c.md"] }, inSession(session));
      const told = await running;
      expect(effect.ran).toEqual([{ files: ["b.md", "c.md"] }]);
      expect(told.get(`${session}-1`)).toMatch(/executed_arguments.*b\.md/s);
      expect(await stage.states(session)).toEqual(["succeeded"]);
    });

    if (!framework.untyped) {
      test("an edit that the tool's schema does not take is refused by the server", async () => {
        const session = fresh("misfit");
        const effect = new Effect();
        const turns = [[call(session, 1, ["a.md"])], [call(session, 2, ["b.md"])]];
        const running = framework.run(play(session, effect, { turns }));
        for (const file of ["a.md", "b.md"]) {
          const which = about(session, file);
          await expect(stage.ann.edit({ files: "all" }, which)).rejects.toThrow(/422/);
          await expect(stage.ann.edit({ files: [], force: true }, which)).rejects.toThrow(/422/);
          if (file === "a.md") await stage.ann.approve(which);
          else await stage.ann.edit({ files: [] }, which);
        }
        await running;
        expect(effect.ran).toEqual([{ files: ["a.md"] }, { files: [] }]);
      });
    }

    test("an answer in place of a run reaches the model, and nothing runs", async () => {
      const session = fresh("respond");
      const effect = new Effect();
      const gate = stage.gate(session, { allowed: ["approve", "deny", "respond"] });
      const running = framework.run(play(session, effect, { gate }));
      await stage.ann.respond("it is gone already", inSession(session));
      const told = await running;
      expect(effect.ran).toEqual([]);
      expect(told.get(`${session}-1`)).toContain("it is gone already");
    });

    test("a call that nobody decides in time does not run", async () => {
      const session = fresh("expire");
      const effect = new Effect();
      const told = await framework.run(
        play(session, effect, { gate: stage.gate(session, { expiresIn: "1s" }) }),
      );
      expect(effect.ran).toEqual([]);
      expect(told.get(`${session}-1`)).toContain("expired");
    });

    test("a call that nobody decides while it is held is withdrawn", async () => {
      const session = fresh("holdfor");
      const effect = new Effect();
      const told = await framework.run(
        play(session, effect, { gate: stage.gate(session, { holdFor: "300ms" }) }),
      );
      expect(effect.ran).toEqual([]);
      expect(told.get(`${session}-1`)).toContain("cancelled");
      expect(await stage.states(session)).toEqual(["cancelled"]);
    });

    test("without a server nothing runs, and the model is told that nobody said no", async () => {
      const session = fresh("down");
      const effect = new Effect();
      const { url, close } = await nowhere();
      const client = new Placet({ url, token: "plk_agent_nobody", outageBudget: "300ms" });
      const told = await framework.run(play(session, effect, { gate: { client, session } }));
      expect(effect.ran).toEqual([]);
      expect(told.get(`${session}-1`)).toMatch(/unreachable.*nobody said no/s);
      close();
    });

    test("with a wrong key nothing runs", async () => {
      const session = fresh("key");
      const effect = new Effect();
      const client = new Placet({ url: stage.server.url, token: "plk_agent_wrong", outageBudget: "300ms" });
      const errors: unknown[] = [];
      const gate = { client, session, onError: (error: unknown) => errors.push(error) };
      const told = await framework.run(play(session, effect, { gate }));
      expect(effect.ran).toEqual([]);
      expect(told.get(`${session}-1`)).toMatch(/failed.*nothing was run/s);
      expect(errors).toHaveLength(1);
    });

    topology(
      framework.of,
      "parallel",
      "two calls of one turn are two requests, each with a decision of its own",
      async () => {
        const session = fresh("parallel");
        const effect = new Effect();
        const turns = [[call(session, 1, ["yes.md"]), call(session, 2, ["no.md"])]];
        const running = framework.run(play(session, effect, { turns }));
        // The second one first, where both are asked about at once.
        if (!framework.sequential) await stage.ann.deny("no", about(session, "no.md"));
        await stage.ann.approve(about(session, "yes.md"));
        if (framework.sequential) await stage.ann.deny("no", about(session, "no.md"));
        const told = await running;
        expect(effect.ran).toEqual([{ files: ["yes.md"] }]);
        expect(told.get(`${session}-1`)).toContain("deleted");
        expect(told.get(`${session}-2`)).toContain("denied");
        return { records: await stage.requests(session), ran: effect.ran };
      },
    );

    topology(framework.of, "loop", "a model that makes one call again and again asks each time", async () => {
      const session = fresh("loop");
      const effect = new Effect();
      const turns = [1, 2, 3, 4].map((at) => [call(session, at, ["same.md"])]);
      const running = framework.run(play(session, effect, { turns }));
      await stage.ann.approve(inSession(session));
      await stage.ann.deny("not twice", inSession(session));
      await stage.ann.edit({ files: ["edited.md"] }, inSession(session));
      await stage.ann.approve(inSession(session));
      const told = await running;
      expect(told.get(`${session}-2`)).toContain("not twice");
      return { records: await stage.requests(session), ran: effect.ran };
    });

    test("two equal calls are two requests", async () => {
      const session = fresh("equal");
      const effect = new Effect();
      const turns = [[call(session, 1, ["same.md"]), call(session, 2, ["same.md"])]];
      const running = framework.run(play(session, effect, { turns }));
      await stage.ann.approve(inSession(session));
      await stage.ann.deny("once is enough", inSession(session));
      await running;
      expect(effect.ran).toHaveLength(1);
      expect((await stage.states(session)).sort()).toEqual(["denied", "succeeded"]);
    });

    test("calls of an agent inside an agent are held too", async () => {
      const session = fresh("nested");
      const effect = new Effect();
      const running = framework.nested(play(session, effect));
      const asked = await stage.ann.pending(inSession(session));
      expect(effect.ran).toEqual([]);
      await stage.ann.approve(asked.id);
      await running;
      expect(effect.ran).toEqual([{ files: ["a.md"] }]);
      expect(await stage.states(session)).toEqual(["succeeded"]);
    });

    test("a denied call of an agent inside an agent never runs", async () => {
      const session = fresh("nested-deny");
      const effect = new Effect();
      const running = framework.nested(play(session, effect));
      await stage.ann.deny("no", inSession(session));
      const told = await running;
      expect(effect.ran).toEqual([]);
      expect(told.get(`${session}-1`)).toContain("denied");
    });

    test("a tool that raises is on record as failed, and ran once", async () => {
      const session = fresh("raise");
      const effect = new Effect(() => {
        throw new Error("the disk is full");
      });
      const running = framework.run(play(session, effect)).catch((error: unknown) => {
        if (!framework.raises) throw error;
        return new Map([[`${session}-1`, String(error)]]);
      });
      await stage.ann.approve(inSession(session));
      const told = await running;
      expect(effect.ran).toHaveLength(1);
      expect(told.get(`${session}-1`)).toBeTruthy();
      const [record] = await stage.requests(session);
      expect(record).toMatchObject({
        state: "failed",
        outcome: { note: expect.stringContaining("the disk is full") },
      });
    });

    test("a tool that raises after an edit tells the model what ran", async () => {
      const session = fresh("edit-raise");
      const effect = new Effect(() => {
        throw new Error("the disk is full");
      });
      const running = framework.run(play(session, effect)).catch((error: unknown) => {
        if (!framework.raises) throw error;
        return new Map([[`${session}-1`, String(error)]]);
      });
      await stage.ann.edit({ files: ["b.md"] }, inSession(session));
      const told = await running;
      expect(effect.ran).toEqual([{ files: ["b.md"] }]);
      expect(told.get(`${session}-1`)).toMatch(/executed_arguments.*b\.md/s);
      const [record] = await stage.requests(session);
      expect(record).toMatchObject({
        state: "failed",
        outcome: { note: expect.stringMatching(/disk is full$/) },
      });
    });

    test("policy lets a call pass without a person, and its permit is used", async () => {
      const session = fresh("free");
      const effect = new Effect();
      await framework.run(
        play(session, effect, {
          turns: [[call(session, 1, ["a.md"], "free_read")]],
          tools: { free_read: effect.run },
        }),
      );
      expect(effect.ran).toHaveLength(1);
      expect(await stage.states(session)).toEqual(["succeeded"]);
    });

    test("policy denies a call without a person", async () => {
      const session = fresh("never");
      const effect = new Effect();
      const told = await framework.run(
        play(session, effect, {
          turns: [[call(session, 1, ["a.md"], "never_drop")]],
          tools: { never_drop: effect.run },
        }),
      );
      expect(effect.ran).toEqual([]);
      expect(told.get(`${session}-1`)).toContain("nobody does this");
    });

    test("tools that `only` does not name are not held", async () => {
      const session = fresh("only");
      const effect = new Effect();
      await framework.run(
        play(session, effect, { gate: stage.gate(session, { only: (tool) => tool === "other" }) }),
      );
      expect(effect.ran).toHaveLength(1);
      expect(await stage.states(session)).toEqual([]);
    });

    test("the same call again, after a restart, does not run a second time", async () => {
      const session = fresh("again");
      const effect = new Effect();
      const running = framework.run(play(session, effect));
      await stage.ann.approve(inSession(session));
      await running;
      // A new client and a new gate, and the framework repeats the call with the id it had.
      const told = await framework.run(play(session, effect));
      expect(effect.ran).toHaveLength(1);
      expect(told.get(`${session}-1`)).toMatch(/unknown.*not run again/s);
      expect(await stage.states(session)).toEqual(["succeeded"]);
    });

    test("a program that was killed while it waited, and makes the call anew, asks nobody twice", async () => {
      const session = fresh("killed");
      const effect = new Effect();
      // The first life is still there as far as the server knows; its framework gives the call another id in the second.
      const first = framework.run(play(session, effect));
      await stage.ann.pending(inSession(session));
      const turns = [[call(session, 2, ["a.md"])]];
      let answered = () => {};
      const asked = new Promise<void>((done) => {
        answered = done;
      });
      const client = stage.server.agent({
        fetch: async (...request) => {
          const answer = await fetch(...request);
          if (request[1]?.method === "POST") answered();
          return answer;
        },
      });
      const second = framework.run(play(session, effect, { turns, gate: { client, session } }));
      await asked;
      expect(await stage.states(session)).toEqual(["pending"]);
      await stage.ann.approve(inSession(session));
      await Promise.all([first, second]);
      expect(effect.ran).toHaveLength(1);
      expect(await stage.states(session)).toEqual(["succeeded"]);
    });

    test("a denial that is to be raised runs nothing either", async () => {
      const session = fresh("raised");
      const effect = new Effect();
      const gate = stage.gate(session, { onDenied: "raise" });
      const running = framework.run(play(session, effect, { gate })).catch(() => undefined);
      await stage.ann.deny("no", inSession(session));
      await running;
      expect(effect.ran).toEqual([]);
    });

    test("an outage that is to be raised runs nothing either", async () => {
      const session = fresh("outage");
      const effect = new Effect();
      const { url, close } = await nowhere();
      const client = new Placet({ url, token: "plk_agent_nobody", outageBudget: "300ms", onOutage: "raise" });
      await framework.run(play(session, effect, { gate: { client, session } })).catch(() => undefined);
      expect(effect.ran).toEqual([]);
      close();
    });

    test("a run that is stopped withdraws what it asked for", async () => {
      const session = fresh("abort");
      const effect = new Effect();
      const stop = new AbortController();
      const running = framework.run(play(session, effect, { signal: stop.signal })).catch(() => undefined);
      await stage.ann.pending(inSession(session));
      stop.abort();
      await running;
      await expect.poll(() => stage.states(session), { timeout: BOUND }).toEqual(["cancelled"]);
      expect(effect.ran).toEqual([]);
    });
  });
}
