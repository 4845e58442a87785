// Commands that policy allows confined: the agent is handed a run of `placet run` in place of its command, and only after it was
// seen to run what it is handed.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { claudeCode } from "./agents/claude-code.mjs";
import { codex } from "./agents/codex.mjs";
import { gemini } from "./agents/gemini.mjs";
import { opencode } from "./agents/opencode.mjs";
import { facts, finished, held } from "./lib/scenarios.mjs";
import { drops, installHook } from "./lib/scene.mjs";

// A workspace cannot lie in a temporary folder, because a confined command has its own.
process.env.TMPDIR = join(import.meta.dirname, "../../target/tmp");
mkdirSync(process.env.TMPDIR, { recursive: true });

/** What no run may write. */
const OUTSIDE = "/usr/placet-was-not-confined";

/** As the documentation says: the hook in the user's settings, a folder that is open, and the mark of an admin. */
async function marked(scene, ...options) {
  await installHook(scene, ...options);
  const agent = `/v1/agents/${scene.agent.name}`;
  await scene.server.admin.ok("PUT", `${agent}/roots`, { roots: [await realpath(scene.work)] });
  await scene.server.admin.ok("PUT", `${agent}/confine`, { confine: true });
}

const agents = async (scene) => (await scene.server.admin.get("/v1/agents")).items;
const isMarked = async (scene) => (await agents(scene)).some((agent) => agent.confine);
const confined = (request) => request.verdict.confine === "workspace";

const FACTS = {
  "what is allowed confined waits until the agent was seen to run what it is handed, and then passes": {
    plan: ({ call }) => ({
      calls: ["./effect confined", "./effect free", "./effect confined", "./effect confined"].map(call),
    }),
    install: marked,
    async act(scene) {
      scene.start();
      await scene.decide(await held(scene), "deny", { reason: "not yet" });
      await finished(scene, 4);
      assert.deepEqual(await scene.effects(), ["free", "confined", "confined"]);
      const requests = await scene.requests();
      assert.deepEqual(requests.map(confined), [false, false, true, true]);
      assert.deepEqual(
        requests.map((request) => request.state),
        ["denied", "succeeded", "succeeded", "succeeded"],
      );
      // What is on record is what the agent asked for, and nothing of what it was handed.
      assert.deepEqual(requests[2].arguments.command, "./effect confined");
      assert.ok(await isMarked(scene));
    },
  },

  "a confined command that needs more is told how to ask, and runs free once a person said yes": {
    plan: ({ call }, scene) => {
      const tried = `test -d '${scene.root}/bin' && ./effect tried`;
      const lines = ["./effect free", `./effect x && touch ${OUTSIDE}`, tried, `placet run --ask -- ${tried}`];
      return { calls: lines.map(call) };
    },
    install: marked,
    async act(scene) {
      scene.start();
      const request = await held(scene);
      assert.match(request.arguments.command, /^test -d/);
      const failed = (await scene.requests()).at(-2);
      assert.deepEqual(request.context.attempt, { request: failed.id });
      await scene.decide(request, "approve");
      const told = await finished(scene, 4);
      assert.ok(told[1].includes(`placet run --ask -- ./effect x && touch ${OUTSIDE}`), told[1]);
      assert.ok(!existsSync(OUTSIDE), "it was not confined");
      assert.deepEqual(await scene.effects(), ["free", "x", "tried"]);
      // Only Claude Code says that a command failed.
      const failure = scene.agent.name === "claude-code" ? "failed" : "succeeded";
      assert.deepEqual(await scene.states(), ["succeeded", failure, failure, "succeeded"]);
    },
  },

  "an agent that drops what it is handed is never allowed anything confined": {
    plan: ({ call }) => ({ calls: ["./effect free", "./effect confined"].map(call) }),
    async install(scene) {
      await marked(scene);
      drops(scene);
    },
    async act(scene) {
      scene.start();
      await scene.decide(await held(scene), "deny", { reason: "no" });
      await finished(scene, 2);
      assert.deepEqual(await scene.effects(), ["free"]);
      assert.ok(!(await scene.requests()).some(confined));
    },
  },

  "an agent that begins to drop what it is handed is on record with an alarm, and held from then on": {
    plan: ({ call }, scene) => {
      const dropped = call("./effect confined");
      const swapped = (input) => () => {
        if (existsSync(scene.program) && !existsSync(join(scene.root, "bin/placet-itself"))) drops(scene);
        return input;
      };
      return {
        calls: [
          call("./effect free"),
          call("./effect confined"),
          { ...dropped, input: swapped(dropped.input) },
          call("./effect confined"),
        ],
      };
    },
    install: marked,
    async act(scene) {
      scene.start();
      await scene.decide(await held(scene), "deny", { reason: "no more" });
      await finished(scene, 4);
      assert.deepEqual(await scene.effects(), ["free", "confined", "confined"]);
      const requests = await scene.requests();
      assert.deepEqual(requests.map(confined), [false, true, true, false]);
      assert.equal(await isMarked(scene), false);
      const { items } = await scene.rita.get("/v1/ledger?after=0");
      const alarm = items.filter((entry) => JSON.stringify(entry).includes("agent.confine_put")).at(-1);
      assert.ok(JSON.stringify(alarm).includes(requests[2].id), "the entry names the request");
    },
  },

};

facts(claudeCode, {
  ...FACTS,

  "where the user has rules of their own about commands, nothing is handed over": {
    plan: ({ call }) => ({ calls: ["./effect free", "./effect confined"].map(call) }),
    async install(scene) {
      await marked(scene);
      await scene.change(".claude/settings.json", (text) =>
        JSON.stringify({ ...JSON.parse(text), permissions: { deny: ["Bash(rm:*)"] } }),
      );
    },
    async act(scene) {
      scene.start();
      await scene.decide(await held(scene), "deny", { reason: "no" });
      await finished(scene, 2);
      assert.deepEqual(await scene.effects(), ["free"]);
    },
  },

  "a hook that was installed without it lets nothing run confined": {
    plan: ({ call }) => ({ calls: ["./effect free", "./effect confined"].map(call) }),
    install: (scene) => marked(scene, "--no-confine"),
    async act(scene) {
      scene.start();
      await scene.decide(await held(scene), "deny", { reason: "no" });
      await finished(scene, 2);
      assert.deepEqual(await scene.effects(), ["free"]);
    },
  },
});

facts(codex, {
  ...FACTS,

  "where the user has rules of their own about commands, nothing is handed over": {
    plan: ({ call }) => ({ calls: ["./effect free", "./effect confined"].map(call) }),
    async install(scene) {
      await marked(scene);
      const rules = join(scene.home, ".codex/rules");
      mkdirSync(rules);
      writeFileSync(join(rules, "mine.rules"), 'prefix_rule(pattern=["rm"], decision="forbidden")\n');
    },
    async act(scene) {
      scene.start();
      await scene.decide(await held(scene), "deny", { reason: "no" });
      await finished(scene, 2);
      assert.deepEqual(await scene.effects(), ["free"]);
    },
  },
});

facts(gemini, {
  ...FACTS,

  "where the user has rules of their own about commands, nothing is handed over": {
    plan: ({ call }) => ({ calls: ["./effect free", "./effect confined"].map(call) }),
    async install(scene) {
      await marked(scene);
      const policies = join(scene.home, ".gemini/policies");
      mkdirSync(policies);
      writeFileSync(
        join(policies, "mine.toml"),
        '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "rm"\ndecision = "deny"\npriority = 100\n',
      );
    },
    async act(scene) {
      scene.start();
      await scene.decide(await held(scene), "deny", { reason: "no" });
      await finished(scene, 2);
      assert.deepEqual(await scene.effects(), ["free"]);
    },
  },
});

facts(opencode, {
  ...FACTS,

  "where the user has rules of their own about commands, nothing is handed over": {
    plan: ({ call }) => ({ calls: ["./effect free", "./effect confined"].map(call) }),
    async install(scene) {
      await marked(scene);
      await scene.change(".config/opencode/opencode.json", (text) =>
        text.replace('"permission":"allow"', '"permission":{"*":"allow","bash":{"rm *":"deny"}}'),
      );
    },
    async act(scene) {
      scene.start();
      await scene.decide(await held(scene), "deny", { reason: "no" });
      await finished(scene, 2);
      assert.deepEqual(await scene.effects(), ["free"]);
    },
  },
});
