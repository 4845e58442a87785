// The tests must catch a hook that fails open: the same scenarios, with such a hook in place of ours, have to fail, and
// have to fail because the command ran.

import assert from "node:assert/strict";
import { test } from "node:test";
import { program } from "../../web/tests/lib/server.mjs";
import { claudeCode } from "./agents/claude-code.mjs";
import { codex } from "./agents/codex.mjs";
import { gemini } from "./agents/gemini.mjs";
import { absence } from "./lib/absence.mjs";
import { play, SCENARIOS } from "./lib/scenarios.mjs";
import { installHook } from "./lib/scene.mjs";

/** Turns every failure of the real hook into silence, as `placet hook … || true` would. */
const LENIENT = `#!/bin/sh
"${program()}" "$@" || exit 0
`;

/** Does not ask. */
const BLIND = `#!/bin/sh
cat > /dev/null
`;

// Not OpenCode: its plugin takes neither silence nor an exit code of 0 for a yes.
for (const agent of [claudeCode, codex, gemini]) {
  const caught = (name, script, fact, effect) =>
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

  caught("a hook that passes what it could not ask", LENIENT, "nothing runs while Placet is down", "down");
  caught("a hook that does not ask", BLIND, "a command that policy denies does not run", "forbidden");
}
