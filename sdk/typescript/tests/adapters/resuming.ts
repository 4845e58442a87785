/** The same facts about every program of examples/resume: killed at any point, its runs go on in the next process. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BOUND } from "../support/server.js";
import { Copy, Lives, type Program } from "./lives.js";
import { fresh, onStage } from "./stage.js";

export function resuming(program: Program): void {
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
    const state = async (run: string) => {
      const { items } = await stage.ann.client.list({ tool: "refund", limit: "100" });
      return items.filter(about(run)).map((each) => each.state);
    };

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

    test("a person approves while no process is there, and the next one goes on", async () => {
      const run = fresh("later");
      lives.start([run]);
      await lives.hears("working");
      await lives.kill();
      await stage.ann.approve(about(run));
      lives.start([], { ONCE: "1" });
      expect(await lives.ended(), lives.errors).toBe(0);
      expect(lives.said).toMatch(new RegExp(`done ${run}: .*refunded 120`));
      expect(await lives.effects()).toEqual([`${run} 120`]);
      expect(await state(run)).toEqual(["succeeded"]);
    });

    test("killed before the claim it goes on; killed while the tool ran it is not run again", async () => {
      const run = fresh("killed");
      lives.start([run]);
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
      lives.start([], { ONCE: "1" });
      expect(await lives.ended(), lives.errors).toBe(0);
      expect(lives.said).toMatch(new RegExp(`done ${run}: .*unknown.*not run again`));
      expect(await lives.effects()).toEqual([`${run} 120`]);
    });
  });
}
