// `placet doctor --prove` starts the agent by itself: what it says must be what the agent does.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { claudeCode } from "./agents/claude-code.mjs";
import { codex } from "./agents/codex.mjs";
import { gemini } from "./agents/gemini.mjs";
import { opencode } from "./agents/opencode.mjs";
import { program } from "../../web/tests/lib/server.mjs";
import { facts } from "./lib/scenarios.mjs";
import { drops, installHook } from "./lib/scene.mjs";

// A workspace cannot lie in a temporary folder, because a confined command has its own.
process.env.TMPDIR = join(import.meta.dirname, "../../target/tmp");
mkdirSync(process.env.TMPDIR, { recursive: true });

/** What the doctor says of this agent, and its exit code. The model of the scene must not hear of it. */
async function doctor(scene) {
  // As after a first start in this folder, whose question was answered with yes.
  const trusted = { projects: { [scene.work]: { hasTrustDialogAccepted: true } } };
  writeFileSync(join(scene.home, ".claude.json"), JSON.stringify(trusted));
  if (scene.agent === codex) {
    // Nothing can be confined in a sandbox of its own, which it has unless its user takes that away.
    const settings = join(scene.home, ".codex/config.toml");
    writeFileSync(settings, `sandbox_mode = "danger-full-access"\n${readFileSync(settings, "utf8")}`);
  }
  const words = ["--json", "doctor", "--prove", "--agent", scene.agent.name, "--give-up", "100ms"];
  const { code, output } = await scene.run(program(), words);
  const { checks } = JSON.parse(output.slice(output.indexOf("{\n")));
  assert.deepEqual(scene.model.seen.asked, [], "the agent asked the model of its settings");
  const { verdict, detail } = checks.find((check) => check.name === `seen ${scene.agent.name}`);
  return { code, verdict, detail };
}

const NOTHING = () => ({ calls: [] });

const FACTS = {
  "the doctor starts it, and sees that it asks and runs what it is handed": {
    plan: NOTHING,
    async act(scene) {
      const { verdict, detail } = await doctor(scene);
      assert.deepEqual([verdict, detail], ["good", "asked Placet, and ran what its hook handed it"]);
      const requests = await scene.requests();
      const echo = requests.find((request) => request.arguments?.command?.startsWith("echo"));
      assert.equal(echo.state, "succeeded");
    },
  },

  "the doctor sees that it drops what it is handed": {
    plan: NOTHING,
    async install(scene) {
      await installHook(scene);
      drops(scene);
    },
    async act(scene) {
      const { code, verdict, detail } = await doctor(scene);
      assert.deepEqual([code, verdict], [0, "warning"], detail);
      assert.match(detail, /dropped what its hook handed it/);
    },
  },

  "the doctor sees that its hook is not called": {
    plan: NOTHING,
    async act(scene) {
      // As if it were not there: it asks nobody and says nothing.
      await scene.replaceProgram("#!/bin/sh\ncat >/dev/null\n");
      const { code, verdict, detail } = await doctor(scene);
      assert.deepEqual([code, verdict], [1, "bad"], detail);
    },
  },
};

for (const agent of [claudeCode, codex, gemini, opencode]) {
  facts(agent, FACTS);
}
