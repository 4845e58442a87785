import assert from "node:assert/strict";
import { claudeCode } from "./agents/claude-code.mjs";
import { finished, held, scenarios } from "./lib/scenarios.mjs";
import { commands, installHook } from "./lib/scene.mjs";

/** Gives up soon, and lets the agent end with its call undecided. */
const deferring = (scene) => installHook(scene, "--wait", "2s", "--defer");

/** A run that accepts nothing by itself: Claude Code heeds a deferral only there. */
const RUN = ["--output-format", "json"];

/** Runs until the end, and reads what Claude Code says of it. */
async function result(scene, words) {
  const { late, output } = await scene.start(words);
  assert.ok(!late, "the agent had to be ended");
  return JSON.parse(output);
}

scenarios(claudeCode, {
  "a call that was put off waits for its approval across resumed sessions, and runs once": {
    plan: commands("./effect deferred"),
    install: deferring,
    async act(scene) {
      const first = await result(scene, [...RUN, "-p", scene.prompt]);
      assert.equal(first.stop_reason, "tool_deferred");
      const resume = [...RUN, "--resume", first.session_id, "-p"];

      const undecided = await result(scene, resume);
      assert.equal(undecided.stop_reason, "tool_deferred", "still nobody has decided");
      assert.deepEqual(await scene.effects(), []);

      await scene.decide(await scene.pending(), "approve");
      assert.deepEqual(await scene.effects(), [], "an approval alone runs nothing");
      await result(scene, resume);
      assert.deepEqual(await scene.effects(), ["deferred"]);
      await scene.executed();

      await result(scene, [...resume, "Anything else?"]);
      assert.deepEqual(await scene.effects(), ["deferred"]);
      await scene.executed();
    },
  },

  "a call that was put off and then denied does not run": {
    plan: commands("./effect deferred"),
    install: deferring,
    async act(scene) {
      const first = await result(scene, [...RUN, "-p", scene.prompt]);
      await scene.decide(await scene.pending(), "deny", { reason: "not this year" });
      await result(scene, [...RUN, "--resume", first.session_id, "-p"]);
      assert.deepEqual(await scene.effects(), []);
      assert.match(scene.told()[0], /not this year/);
    },
  },

  "two calls at once are put off too, even if Claude Code's own rules allow them": {
    plan: (agent) => ({ calls: [[agent.call("./effect one"), agent.call("./effect two")]] }),
    install: deferring,
    async act(scene) {
      const rules = { permissions: { allow: ["Bash"] } };
      await scene.change(".claude/settings.json", (text) =>
        JSON.stringify({ ...JSON.parse(text), ...rules }),
      );
      await result(scene, [...RUN, "-p", scene.prompt]);
      assert.deepEqual(await scene.effects(), []);
      assert.deepEqual(await scene.states(), ["pending", "pending"]);
    },
  },

  "where a deferral would let the call run, it is blocked instead": {
    plan: commands("./effect undecided"),
    install: deferring,
    async act(scene) {
      scene.start();
      await held(scene);
      await finished(scene);
      assert.deepEqual(await scene.effects(), []);
    },
  },
});
