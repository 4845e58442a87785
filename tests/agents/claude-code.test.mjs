import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { claudeCode } from "./agents/claude-code.mjs";
import { finished, held, SCENARIOS, scenarios } from "./lib/scenarios.mjs";
import { commands, installHook } from "./lib/scene.mjs";

/** Gives up soon, and lets the agent end with its call undecided. */
const deferring = (scene) => installHook(scene, "--wait", "2s", "--defer");

/** As the documentation has it, in the user's settings: Claude Code calls the server itself. */
async function overHttp(scene) {
  const url = `${scene.server.url}/v1/hooks/claude-code?wait=1m`;
  const headers = { Authorization: "Bearer $PLACET_TOKEN" };
  const hook = { type: "http", timeout: 120, url, headers, allowedEnvVars: ["PLACET_TOKEN"] };
  const events = ["PreToolUse", "PostToolUse", "PostToolUseFailure"];
  const hooks = Object.fromEntries(events.map((event) => [event, [{ matcher: "*", hooks: [hook] }]]));
  await writeFile(join(scene.home, ".claude/settings.json"), JSON.stringify({ hooks }));
}

/** In the project, and not for the user. */
async function inProject(scene) {
  await scene.placet("hook", "install", "claude-code");
  assert.ok(existsSync(join(scene.work, ".claude/settings.local.json")));
}

/** Facts that hold for every agent, with the hook put in place in another way. */
function again(how, install, facts) {
  return Object.fromEntries(facts.map((fact) => [`${how}, ${fact}`, { ...SCENARIOS[fact], install }]));
}

/** A run that accepts nothing by itself: Claude Code heeds a deferral only there. */
const RUN = ["--output-format", "json"];

/** Runs until the end, and reads what Claude Code says of it. */
async function result(scene, words) {
  const { late, output } = await scene.start(words);
  assert.ok(!late, "the agent had to be ended");
  return JSON.parse(output);
}

scenarios(claudeCode, {
  ...again("installed in the project", inProject, [
    "a denied command does not run, and the model is told why",
    "an approved command runs once",
    "nothing runs while Placet is down",
    "a hook whose program is gone blocks the command",
  ]),

  ...again("over HTTP", overHttp, [
    "a denied command does not run, and the model is told why",
    "an approved command runs once",
    "a command that policy allows runs without a person",
    "a command that policy denies does not run",
    "a command that nobody decides on in time does not run",
    "the command of a subagent waits as well",
  ]),

  "over HTTP, a wrong key blocks": {
    plan: commands("./effect locked-out"),
    install: overHttp,
    async act(scene) {
      scene.variables = { PLACET_TOKEN: "plk_agent_wrong" };
      scene.start();
      await finished(scene);
      assert.deepEqual(await scene.effects(), []);
    },
  },

  // What the documentation warns of, and why it says to use the command hook.
  "over HTTP, a server that is down would let the command run": {
    plan: commands("./effect down"),
    install: overHttp,
    async act(scene) {
      await scene.server.end("SIGKILL");
      scene.start();
      await finished(scene);
      assert.deepEqual(await scene.effects(), ["down"]);
    },
  },

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
