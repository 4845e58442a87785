import assert from "node:assert/strict";
import { codex } from "./agents/codex.mjs";
import { finished, held, scenarios } from "./lib/scenarios.mjs";

/** Opens a shell, waits for it, and types into it: Codex asks no hook about what is typed. */
const TYPING = [
  { tool: "exec_command", input: { cmd: "sh", tty: true, yield_time_ms: 500 } },
  {
    tool: "write_stdin",
    input: (told) => {
      const [, session] = /session ID (\d+)/.exec(told.get("call_1")) ?? [null, "0"];
      return { session_id: Number(session), chars: "./effect typed\n", yield_time_ms: 2000 };
    },
  },
];

scenarios(codex, {
  "a shell that was approved takes no further commands": {
    plan: () => ({ calls: TYPING }),
    async act(scene) {
      scene.start();
      await scene.decide(await held(scene), "approve");
      const [opened] = await finished(scene, 2);
      assert.deepEqual(await scene.effects(), []);
      assert.match(opened, /TTY execution is disabled/);
    },
  },

  // So that the test above shows the installer's doing, and not that Codex has changed.
  "without the installer's setting, what is typed into an approved shell would run": {
    plan: () => ({ calls: TYPING }),
    async act(scene) {
      await scene.change(".codex/config.toml", (text) => text.replace(/^unified_exec_tty.*$/m, ""));
      scene.start();
      await scene.decide(await held(scene), "approve");
      await finished(scene, 2);
      assert.deepEqual(await scene.effects(), ["typed"]);
    },
  },
});
