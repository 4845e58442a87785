/** The same facts about every program of examples/resume: killed at any point, its runs go on in the next process. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BOUND } from "../support/server.js";
import { Copy, Lives, type Program } from "./lives.js";
import { fresh, onStage } from "./stage.js";
import { type Evidence, type FrameworkName, topology } from "./topology.js";

export function resuming({ program, of }: { program: Program; of: FrameworkName }): void {
  describe(`${program}, resumed`, () => {
    const stage = onStage();
    let copy: Copy;
    let lives: Lives;
    beforeAll(async () => {
      copy = await Copy.make();
    });
    afterAll(() => copy?.remove());
    beforeEach(async () => {
      lives = await Lives.begin(copy, program, stage.server);
    });
    afterEach(() => lives.close());

    // The standard tests have no room for it: the other tests of this block show the same.
    test.runIf(process.env.PLACET_LONG === "1" || program !== "vercel-ai")(
      "the script of the example plays to its end",
      async () => {
        const { stdout } = await promisify(execFile)(join(copy.folder, "try.sh"), [program], {
          timeout: 2 * BOUND,
        });
        expect(stdout).not.toContain("installing");
        expect(stdout).toMatch(/done order-1: .*refunded 120/);
        expect(stdout).toMatch(/done order-2: .*not run again/);
        expect(stdout).toMatch(/in the world\norder-1 120\norder-2 120\ngood: /);
      },
    );

    const about = (run: string) => (record: { arguments?: object | null }) =>
      (record.arguments as { order?: unknown } | undefined)?.order === run;
    const records = async (...runs: string[]) => {
      const { items } = await stage.ann.client.list({ tool: "refund", limit: "100" });
      return items.filter((each) => runs.some((run) => about(run)(each)));
    };
    const state = async (run: string) => (await records(run)).map((each) => each.state);
    const evidence = async (...runs: string[]): Promise<Evidence> => ({
      records: await records(...runs),
      ran: (await lives.effects()).map((line) => {
        const [order, amount] = line.split(" ");
        return { amount: Number(amount), order };
      }),
    });

    test("a paused run goes on by itself when it is decided, and says what was denied", async () => {
      const [yes, no] = [fresh("yes"), fresh("no")];
      lives.start([yes, no], { ONCE: "1" });
      await lives.hears("working");
      await stage.ann.approve(about(yes));
      await stage.ann.deny("not this one", about(no));
      expect(await lives.ended(), lives.errors).toBe(0);
      expect(lives.said).toMatch(new RegExp(`done ${yes}: .*refunded 120`));
      expect(lives.said).toMatch(new RegExp(`done ${no}: .*not this one`));
      expect(await lives.effects()).toEqual([`${yes} 120`]);
      expect([await state(yes), await state(no)]).toEqual([["succeeded"], ["denied"]]);
    });

    topology(
      of,
      "killed while held",
      "people decide while no process is there, and the next one goes on",
      async () => {
        const [run, no, edited] = [fresh("later"), fresh("later-no"), fresh("later-edited")];
        lives.start([run, no, edited]);
        await lives.hears("working");
        await lives.kill();
        await stage.ann.approve(about(run));
        await stage.ann.deny("not this one", about(no));
        await stage.ann.edit({ amount: 60, order: edited }, about(edited));
        lives.start([], { ONCE: "1" });
        expect(await lives.ended(), lives.errors).toBe(0);
        expect(lives.said).toMatch(new RegExp(`done ${run}: .*refunded 120`));
        expect(lives.said).toMatch(new RegExp(`done ${no}: .*not this one`));
        expect(lives.said).toMatch(new RegExp(`done ${edited}: .*refunded 60`));
        expect((await lives.effects()).sort()).toEqual([`${edited} 60`, `${run} 120`].sort());
        expect(await state(run)).toEqual(["succeeded"]);
        return evidence(run, no, edited);
      },
    );

    const TWICE = "killed before the claim it goes on; killed while the tool ran it is not run again";
    topology(of, "killed while resuming", TWICE, async () => {
      const [run, no] = [fresh("killed"), fresh("killed-no")];
      lives.start([run, no]);
      await lives.hears("working");
      await lives.kill();
      await stage.ann.approve(about(run));
      lives.start([], { DIE_AT: "POST /v1/requests?claim=true" });
      expect(await lives.ended()).toBeUndefined();
      expect(await lives.effects()).toEqual([]);
      expect(await state(run)).toEqual(["approved"]);
      lives.start([], { SLOW: String(10 * BOUND) });
      await expect.poll(() => lives.effects(), { timeout: BOUND }).toEqual([`${run} 120`]);
      await lives.kill();
      expect(await state(run)).toEqual(["claimed"]);
      await stage.ann.deny("not this one", about(no));
      lives.start([], { ONCE: "1" });
      expect(await lives.ended(), lives.errors).toBe(0);
      expect(lives.said).toMatch(new RegExp(`done ${run}: .*unknown.*not run again`));
      expect(lives.said).toMatch(new RegExp(`done ${no}: .*not this one`));
      expect(await lives.effects()).toEqual([`${run} 120`]);
      return evidence(run, no);
    });
  });
}
