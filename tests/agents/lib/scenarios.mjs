// What must hold for every agent: the same facts, told of each.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { absence } from "./absence.mjs";
import { Scene } from "./scene.mjs";

/** Long enough for a call that is not held to run. */
const HELD = 500;

/** A test with a scene of its own, which is taken down whatever happens. */
export function scene(agent, fact, commands, act) {
  test(`${agent.name}: ${fact}`, { skip: absence(agent.name) }, async (t) => {
    const scene = await Scene.open(agent, commands);
    try {
      await act(scene);
    } catch (error) {
      t.diagnostic(`${agent.name} said:\n${scene.said()}`);
      throw error;
    } finally {
      await scene.close();
    }
  });
}

/** Waits for the question, and makes sure that the command waits as well. */
export async function held(scene) {
  const request = await scene.pending();
  const before = await scene.effects();
  await sleep(HELD);
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

/** @param {import("./scene.mjs").Agent} agent */
export function scenarios(agent) {
  scene(agent, "a denied command does not run, and the model is told why", ["./effect denied"], async (scene) => {
    scene.start();
    const request = await held(scene);
    assert.equal(request.arguments.command, "./effect denied");
    await scene.decide(request, "deny", { reason: "not on a Sunday" });
    const [told] = await finished(scene);
    assert.match(told, /not on a Sunday/);
    assert.deepEqual(await scene.effects(), []);
    assert.deepEqual(await scene.states(), ["denied"]);
  });

  scene(agent, "an approved command runs once", ["./effect approved"], async (scene) => {
    scene.start();
    await scene.decide(await held(scene), "approve");
    await finished(scene);
    assert.deepEqual(await scene.effects(), ["approved"]);
    await scene.claimed();
  });

  scene(agent, "an edited command runs as edited", ["./effect proposed"], async (scene) => {
    scene.start();
    const request = await held(scene);
    await scene.decide(request, "edit", { arguments: { ...request.arguments, command: "./effect edited" } });
    await finished(scene);
    assert.deepEqual(await scene.effects(), ["edited"]);
    await scene.claimed();
  });

  scene(agent, "a command that policy allows runs without a person", ["./effect free"], async (scene) => {
    scene.start();
    await finished(scene);
    assert.deepEqual(await scene.effects(), ["free"]);
    const [request] = await scene.claimed();
    assert.equal(request.verdict.effect, "allow");
  });

  scene(agent, "a command that policy denies does not run", ["./effect forbidden"], async (scene) => {
    scene.start();
    const [told] = await finished(scene);
    assert.match(told, /nobody does this/);
    assert.deepEqual(await scene.effects(), []);
    assert.deepEqual(await scene.states(), ["denied"]);
  });

  scene(agent, "a command that nobody decides on in time does not run", ["./effect late"], async (scene) => {
    scene.start();
    await finished(scene);
    assert.deepEqual(await scene.effects(), []);
    assert.deepEqual(await scene.states(), ["expired"]);
  });

  scene(
    agent,
    "the same command again needs a yes of its own",
    ["./effect again", "./effect again"],
    async (scene) => {
      scene.start();
      await scene.decide(await held(scene), "approve");
      await scene.decide(await held(scene), "deny", { reason: "once was enough" });
      const told = await finished(scene, 2);
      assert.match(told[1], /once was enough/);
      assert.deepEqual(await scene.effects(), ["again"]);
      assert.deepEqual((await scene.states()).slice(1), ["denied"]);
    },
  );

  scene(agent, "nothing runs while Placet is down", ["./effect down"], async (scene) => {
    await scene.server.end("SIGKILL");
    scene.start();
    const [told] = await finished(scene);
    assert.match(told, /placet/i, "the model learns what is missing");
    assert.deepEqual(await scene.effects(), []);
  });

  scene(agent, "a command that waits does not run when Placet goes away", ["./effect gone"], async (scene) => {
    scene.start();
    await held(scene);
    await scene.server.end("SIGKILL");
    await finished(scene);
    assert.deepEqual(await scene.effects(), []);
  });

  scene(agent, "a command that waits outlives a killed Placet, and runs once", ["./effect on"], async (scene) => {
    scene.start();
    const request = await held(scene);
    await scene.server.restart({ signal: "SIGKILL", pause: 1_000 });
    assert.deepEqual(await scene.effects(), []);
    await scene.decide(request, "approve");
    await finished(scene);
    assert.deepEqual(await scene.effects(), ["on"]);
    await scene.claimed();
  });

  scene(agent, "a hook that is killed while it waits blocks the command", ["./effect killed"], async (scene) => {
    scene.start();
    await held(scene);
    await scene.killHook();
    await finished(scene);
    assert.deepEqual(await scene.effects(), []);
  });
}
