// The tests must catch a hook that fails open: the same scenarios, with such a hook in place of ours, have to fail, and
// have to fail because the command ran.

import assert from "node:assert/strict";
import { test } from "node:test";
import { program } from "../../web/tests/lib/server.mjs";
import { claudeCode } from "./agents/claude-code.mjs";
import { codex } from "./agents/codex.mjs";
import { gemini } from "./agents/gemini.mjs";
import { opencode } from "./agents/opencode.mjs";
import { absence } from "./lib/absence.mjs";
import { play, SCENARIOS } from "./lib/scenarios.mjs";
import { installHook } from "./lib/scene.mjs";

/** Turns every failure of the real hook into silence, as `placet hook … || true` would. */
const LENIENT = `#!/bin/sh
"${program()}" "$@" || exit 0
`;

/** Does not ask: to these three, silence is consent. */
const BLIND = `#!/bin/sh
cat > /dev/null
`;

/** Does not ask either, and says what the plugin in OpenCode takes for a yes. */
const YES = `#!/bin/sh
cat > /dev/null
echo '{"decision":"allow"}'
`;

/** The scenario fails with this script in the place of our program, because the command ran. */
function caught(agent, name, script, fact, effect) {
  test(`${agent.name}: ${name} is caught`, { skip: absence(agent.name) }, async () => {
    const install = async (scene) => {
      await installHook(scene);
      await scene.replaceProgram(script);
    };
    await assert.rejects(play(agent, SCENARIOS[fact], { install }), (error) => {
      assert.deepEqual(error.actual, [effect], `another reason than that it ran: ${error}`);
      return true;
    });
  });
}

const DENIED = "a command that policy denies does not run";
const DOWN = "nothing runs while Placet is down";

for (const agent of [claudeCode, codex, gemini]) {
  caught(agent, "a hook that passes what it could not ask", LENIENT, DOWN, "down");
  caught(agent, "a hook that does not ask", BLIND, DENIED, "forbidden");
}
caught(opencode, "a hook that does not ask", YES, DENIED, "forbidden");
