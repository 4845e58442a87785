// What must hold for every agent: the same facts, told of each.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { absence } from "./absence.mjs";
import { commands, delegated, Scene } from "./scene.mjs";

/**
 * One fact: what the model asks for, how the hook is installed if not as usual, and what must come of it.
 * @typedef {object} Scenario
 * @property {(agent: import("./scene.mjs").Agent, scene: Scene) => object} plan
 * @property {(scene: Scene) => Promise<void>} [install]
 * @property {(scene: Scene) => Promise<void>} act
 *
 * @type {Record<string, Scenario>}
 */
export const SCENARIOS = {
  "a denied command does not run, and the model is told why": {
    plan: commands("./effect denied"),
    async act(scene) {
      scene.start();
      const request = await held(scene);
      assert.equal(request.arguments.command, "./effect denied");
      await scene.decide(request, "deny", { reason: "not on a Sunday" });
      const [told] = await finished(scene);
      assert.deepEqual(await scene.effects(), []);
      assert.match(told, /not on a Sunday/);
      assert.deepEqual(await scene.states(), ["denied"]);
    },
  },

  "an approved command runs once": {
    plan: commands("./effect approved"),
    async act(scene) {
      scene.start();
      await scene.decide(await held(scene), "approve");
      await finished(scene);
      assert.deepEqual(await scene.effects(), ["approved"]);
      await scene.executed();
    },
  },

  "an edited command runs as edited": {
    // With the first command the agent shows that it runs what its hook hands it. Before that no edit is offered.
    plan: commands("./effect free", "./effect proposed"),
    async act(scene) {
      scene.start();
      const request = await held(scene);
      await scene.decide(request, "edit", {
        arguments: { ...request.arguments, command: "./effect edited" },
      });
      await finished(scene, 2);
      assert.deepEqual(await scene.effects(), ["free", "edited"]);
      await scene.executed();
    },
  },

  "a command that policy allows runs without a person": {
    plan: commands("./effect free"),
    async act(scene) {
      scene.start();
      await finished(scene);
      assert.deepEqual(await scene.effects(), ["free"]);
      const [request] = await scene.executed();
      assert.equal(request.verdict.effect, "allow");
    },
  },

  "a command that policy denies does not run": {
    plan: commands("./effect forbidden"),
    async act(scene) {
      scene.start();
      const [told] = await finished(scene);
      assert.deepEqual(await scene.effects(), []);
      assert.match(told, /nobody does this/);
      assert.deepEqual(await scene.states(), ["denied"]);
    },
  },

  "a command that nobody decides on in time does not run": {
    plan: commands("./effect late"),
    async act(scene) {
      scene.start();
      await finished(scene);
      assert.deepEqual(await scene.effects(), []);
      assert.deepEqual(await scene.states(), ["expired"]);
    },
  },

  "the same command again needs a yes of its own": {
    plan: commands("./effect again", "./effect again"),
    async act(scene) {
      scene.start();
      await scene.decide(await held(scene), "approve");
      await scene.decide(await held(scene), "deny", { reason: "once was enough" });
      const told = await finished(scene, 2);
      assert.match(told[1], /once was enough/);
      assert.deepEqual(await scene.effects(), ["again"]);
      assert.deepEqual((await scene.states()).slice(1), ["denied"]);
    },
  },

  "of two equal calls at once, only the one that was approved runs": {
    plan: (agent) => ({ calls: [[agent.call("./effect twin"), agent.call("./effect twin")]] }),
    async act(scene) {
      scene.start();
      const [first] = await scene.waiting();
      await scene.decide(first, "approve");
      // The other one may be asked for at the same time, afterwards, or not at all.
      for (let more = await scene.waiting(); more.length > 0; more = await scene.waiting()) {
        await scene.decide(more[0], "deny", { reason: "one is enough" });
      }
      await finished(scene, 2);
      assert.deepEqual(await scene.effects(), ["twin"]);
    },
  },

  "the command of a subagent waits as well": {
    plan: delegated("./effect errand"),
    async act(scene) {
      scene.start();
      const request = await held(scene);
      assert.equal(request.arguments.command, "./effect errand");
      await scene.decide(request, "deny", { reason: "do it yourself" });
      const { late } = await scene.running;
      assert.ok(!late, "the agent had to be ended");
      assert.match(scene.model.seen.results.get("errand_1"), /do it yourself/);
      assert.deepEqual(await scene.effects(), []);
    },
  },

  "nothing runs while Placet is down": {
    plan: commands("./effect down"),
    async act(scene) {
      await scene.server.end("SIGKILL");
      scene.start();
      const [told] = await finished(scene);
      assert.deepEqual(await scene.effects(), []);
      assert.match(told, /placet/i, "the model learns what is missing");
    },
  },

  "a command that waits does not run when Placet goes away": {
    plan: commands("./effect gone"),
    async act(scene) {
      scene.start();
      await held(scene);
      await scene.server.end("SIGKILL");
      await finished(scene);
      assert.deepEqual(await scene.effects(), []);
    },
  },

  "a command that waits outlives a killed Placet, and runs once": {
    plan: commands("./effect on"),
    async act(scene) {
      scene.start();
      const request = await held(scene);
      await scene.server.restart({ signal: "SIGKILL", pause: 1_000 });
      assert.deepEqual(await scene.effects(), []);
      await scene.decide(request, "approve");
      await finished(scene);
      assert.deepEqual(await scene.effects(), ["on"]);
      await scene.executed();
    },
  },

  "a hook that is killed while it waits blocks the command": {
    plan: commands("./effect killed"),
    async act(scene) {
      scene.start();
      await held(scene);
      await scene.killHook();
      await finished(scene);
      assert.deepEqual(await scene.effects(), []);
    },
  },

  "a hook whose program is gone blocks the command": {
    plan: commands("./effect orphan"),
    async act(scene) {
      await scene.removeProgram();
      scene.start();
      await finished(scene);
      assert.deepEqual(await scene.effects(), []);
    },
  },
};

/** For the agents that have a tool for it. @type {Record<string, Scenario>} */
const WRITING = {
  "a file is not written before it was approved, nor if it was denied": {
    plan: (agent, scene) => ({
      calls: ["yes", "no"].map((name) => agent.write(join(scene.work, name), "text\n")),
    }),
    async act(scene) {
      const there = () => ["yes", "no"].filter((name) => existsSync(join(scene.work, name)));
      scene.start();
      const first = await held(scene);
      assert.deepEqual(there(), []);
      await scene.decide(first, "approve");
      await scene.decide(await held(scene), "deny", { reason: "one is enough" });
      const told = await finished(scene, 2);
      assert.match(told[1], /one is enough/);
      assert.deepEqual(there(), ["yes"]);
    },
  },
};

/** Registers all tests of one agent. */
export function scenarios(agent, more = {}) {
  facts(agent, { ...SCENARIOS, ...(agent.write ? WRITING : {}), ...more });
}

/** Registers these tests of one agent. @param {Record<string, Scenario>} all */
export function facts(agent, all) {
  for (const [fact, scenario] of Object.entries(all)) {
    test(`${agent.name}: ${fact}`, { skip: absence(agent.name) }, (t) => play(agent, scenario, { t }));
  }
}

/** Plays one scenario in a scene of its own, which is taken down whatever happens. */
export async function play(agent, scenario, { install = scenario.install, t } = {}) {
  const scene = await Scene.open(agent, scenario.plan, install);
  try {
    await scenario.act(scene);
  } catch (error) {
    t?.diagnostic(`${agent.name} said:\n${scene.said()}`);
    throw error;
  } finally {
    await scene.close();
  }
}

/** Waits for the question, and makes sure that the command waits as well. */
export async function held(scene) {
  const request = await scene.pending();
  const before = await scene.effects();
  await scene.fence();
  assert.deepEqual(await scene.effects(), before, "it ran before anybody had decided");
  return request;
}

/** The agent came to its end by itself, and the model learned what became of each of its calls. */
export async function finished(scene, calls = 1) {
  const { late } = await scene.running;
  assert.ok(!late, "the agent had to be ended");
  assert.equal(scene.told().length, calls, "the model was told what came of each call");
  return scene.told();
}
