// Claude Code at a terminal, with the hook as a relay: the person there and Placet are asked at the same time, and the first
// answer counts.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { claudeCode } from "./agents/claude-code.mjs";
import { facts } from "./lib/scenarios.mjs";
import { commands, installHook } from "./lib/scene.mjs";
import { atTerminal, becomes, told } from "./lib/terminal.mjs";

const DIALOG = "Bash command";

/** A user who has started Claude Code before, and trusts the folder. */
async function relay(scene) {
  await writeFile(
    join(scene.home, ".claude.json"),
    JSON.stringify({
      hasCompletedOnboarding: true,
      theme: "dark",
      customApiKeyResponses: { approved: ["none"], rejected: [] },
      projects: { [scene.work]: { hasTrustDialogAccepted: true } },
    }),
  );
  // Nobody needs plugins here, and there is no outside to get them from.
  scene.variables = { CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: "1" };
  await installHook(scene, "--mode", "relay");
}

const start = (scene) => atTerminal(scene, ["--permission-mode", "default", scene.prompt]);

facts(claudeCode, {
  "a yes from Placet closes the dialog, and the command runs once": {
    plan: commands("./effect relayed"),
    install: relay,
    async act(scene) {
      const terminal = start(scene);
      const request = await scene.pending();
      await terminal.shows(DIALOG);
      assert.deepEqual(await scene.effects(), []);
      await scene.decide(request, "approve");
      await told(scene);
      assert.deepEqual(await scene.effects(), ["relayed"]);
      await becomes(scene, "succeeded");
    },
  },

  "a no from Placet closes the dialog, and nothing runs": {
    plan: commands("./effect relayed"),
    install: relay,
    async act(scene) {
      const terminal = start(scene);
      const request = await scene.pending();
      await terminal.shows(DIALOG);
      await scene.decide(request, "deny", { reason: "not on a Sunday" });
      assert.match(await told(scene), /not on a Sunday/);
      assert.deepEqual(await scene.effects(), []);
    },
  },

  "a yes at the terminal runs the command once, and takes the question back": {
    plan: commands("./effect relayed"),
    install: relay,
    async act(scene) {
      const terminal = start(scene);
      await scene.pending();
      await terminal.shows(DIALOG);
      await terminal.presses("\r");
      assert.deepEqual(await scene.effects(), ["relayed"]);
      await becomes(scene, "cancelled");
    },
  },

  "without Placet the person at the terminal decides, and nothing runs before": {
    plan: commands("./effect relayed"),
    install: relay,
    async act(scene) {
      await scene.server.end("SIGKILL");
      const terminal = start(scene);
      await terminal.shows(DIALOG);
      assert.deepEqual(await scene.effects(), []);
      await terminal.presses("\r");
      assert.deepEqual(await scene.effects(), ["relayed"]);
    },
  },
});
