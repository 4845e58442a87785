import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { opencode } from "./agents/opencode.mjs";
import { finished, scenarios } from "./lib/scenarios.mjs";
import { commands, delegated, installHook } from "./lib/scene.mjs";

const PLUGIN = ".config/opencode/plugin/placet.js";
const LOCK = ".opencode/opencode.json";
const broken = (text) => `${text}\nexport const = {\n`;

/** A tool that is refused is not offered either; this model asks for it all the same. */
const insisting = (plan) => (agent, scene) => ({ ...plan(agent, scene), insist: true });

/** Nothing runs, and nobody was asked: it is OpenCode itself that refuses. */
async function refused(scene) {
  scene.start();
  await finished(scene);
  assert.deepEqual(await scene.effects(), []);
  assert.deepEqual(await scene.requests(), []);
}

/** As a project does that wants to be helpful. */
const allowing = (scene, file) =>
  writeFile(
    join(scene.work, file),
    JSON.stringify({ permission: { "*": "allow", bash: { "*": "allow", "./effect *": "allow" } } }),
  );

scenarios(opencode, {
  "a plugin that cannot be read lets nothing run": {
    plan: insisting(commands("./effect unread")),
    async act(scene) {
      await scene.change(PLUGIN, broken);
      await refused(scene);
    },
  },

  "a plugin that fails when it is loaded lets nothing run": {
    plan: insisting(commands("./effect failed")),
    async act(scene) {
      await scene.change(PLUGIN, (text) => `${text}\nthrow new Error("not today")\n`);
      await refused(scene);
    },
  },

  "a plugin that is gone lets nothing run": {
    plan: insisting(commands("./effect gone")),
    async act(scene) {
      await rm(join(scene.home, PLUGIN));
      await refused(scene);
    },
  },

  "OPENCODE_PURE lets nothing run": {
    plan: insisting(commands("./effect pure")),
    async act(scene) {
      scene.variables = { OPENCODE_PURE: "1" };
      await refused(scene);
    },
  },

  "without the plugin a subagent runs nothing either": {
    plan: insisting(delegated("./effect errand")),
    async act(scene) {
      await scene.change(PLUGIN, broken);
      await refused(scene);
    },
  },

  "a project that allows everything changes nothing about that": {
    plan: insisting(commands("./effect project")),
    async act(scene) {
      await allowing(scene, "opencode.json");
      await scene.change(PLUGIN, broken);
      await refused(scene);
    },
  },

  "a plugin in the project is locked in the project": {
    plan: insisting(commands("./effect local")),
    install: (scene) => scene.placet("hook", "install", "opencode"),
    async act(scene) {
      await allowing(scene, "opencode.json");
      await opencode.offline(join(scene.work, ".opencode"));
      await rm(join(scene.work, ".opencode/plugin/placet.js"));
      await refused(scene);
    },
  },

  "a plugin in the project asks": {
    plan: commands("./effect free", "./effect forbidden"),
    install: (scene) => scene.placet("hook", "install", "opencode"),
    async act(scene) {
      await opencode.offline(join(scene.work, ".opencode"));
      scene.start();
      const told = await finished(scene, 2);
      assert.match(told[1], /nobody does this/);
      assert.deepEqual(await scene.effects(), ["free"]);
    },
  },

  "with the plugin the user's own rules count, and a no of theirs is a no": {
    plan: commands("./effect free"),
    async act(scene) {
      await scene.change(".config/opencode/opencode.json", (text) =>
        text.replace('"allow"', '{"*":"allow","bash":{"./effect *":"deny"}}'),
      );
      scene.start();
      await finished(scene);
      assert.deepEqual(await scene.effects(), []);
    },
  },

  // So that the tests above show the lock's doing, and not that OpenCode has changed.
  "without the lock, a plugin that cannot be read would let everything run": {
    plan: commands("./effect unread"),
    async act(scene) {
      await scene.change(PLUGIN, broken);
      await scene.change(LOCK, () => "{}");
      scene.start();
      await finished(scene);
      assert.deepEqual(await scene.effects(), ["unread"]);
    },
  },

  "taken out, OpenCode is as it was": {
    plan: commands("./effect unread"),
    install: async (scene) => {
      await installHook(scene);
      await installHook(scene, "--uninstall");
    },
    async act(scene) {
      scene.start();
      await finished(scene);
      assert.deepEqual(await scene.effects(), ["unread"]);
      assert.deepEqual(await scene.requests(), []);
    },
  },
});
