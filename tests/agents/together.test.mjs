// Calls that the model asks for in one message: what waits at once is one card, and one action lets each run once.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { claudeCode } from "./agents/claude-code.mjs";
import { codex } from "./agents/codex.mjs";
import { facts, finished, held } from "./lib/scenarios.mjs";

/** What waits together, as soon as two do. */
async function card(scene) {
  for (;;) {
    const [first] = await scene.waiting();
    assert.ok(first, "the agent ended without asking for two at once");
    const { together } = await scene.rita.get(`/v1/requests/${first.id}`);
    if (together) return together;
    await sleep(50);
  }
}

/** One decision for each request that the card lists, on the digest it shows. */
async function decideAll(scene, { items }, decision) {
  const all = items.map(({ id, digest, version }) => ({ id, digest, version, decision }));
  const { results } = await scene.rita.post("/v1/decisions", all);
  assert.deepEqual(
    results.map(({ status }) => status),
    items.map(() => 200),
  );
}

/** Two files to look at: Claude Code makes calls that only look at once. */
const looking = (_, scene) => ({
  calls: [
    ["a", "b"].map((name) => {
      const path = join(scene.work, name);
      writeFileSync(path, `the text of ${name}\n`);
      return { tool: "Read", input: { file_path: path } };
    }),
  ],
});

/** Codex makes all calls of a message at once. */
const running = (agent) => ({ calls: [["one", "two"].map((word) => agent.call(`./effect ${word}`))] });

const approved = {
  async act(scene) {
    scene.start();
    const together = await card(scene);
    assert.equal(together.items.length, 2);
    assert.equal(together.more, 0);
    assert.notEqual(together.items[0].digest, together.items[1].digest);
    await scene.fence();
    assert.deepEqual(await scene.effects(), [], "it ran before anybody had decided");
    await decideAll(scene, together, "approve");
    await finished(scene, 2);
    assert.deepEqual(await scene.states(), ["succeeded", "succeeded"]);
  },
};

const denied = {
  async act(scene) {
    scene.start();
    await decideAll(scene, await card(scene), "deny");
    const told = await finished(scene, 2);
    assert.ok(
      told.every((text) => /denied/i.test(text)),
      told.join("\n"),
    );
    assert.deepEqual(await scene.effects(), []);
    assert.deepEqual(await scene.states(), ["denied", "denied"]);
  },
};

facts(codex, {
  "commands of one message are one card, and one yes lets each run once": {
    plan: running,
    async act(scene) {
      await approved.act(scene);
      assert.deepEqual((await scene.effects()).sort(), ["one", "two"]);
    },
  },
  "commands of one message are denied with one no": { plan: running, ...denied },
});

facts(claudeCode, {
  "files that are read at once are one card, and one yes lets each be read": {
    plan: looking,
    async act(scene) {
      await approved.act(scene);
      for (const name of ["a", "b"])
        assert.ok(
          scene.told().some((text) => text.includes(`the text of ${name}`)),
          `${name} was not read`,
        );
    },
  },
  "commands that run one after the other are no card": {
    plan: running,
    async act(scene) {
      scene.start();
      for (const word of ["one", "two"]) {
        const request = await held(scene);
        assert.equal(request.arguments.command, `./effect ${word}`);
        assert.equal((await scene.rita.get(`/v1/requests/${request.id}`)).together, undefined);
        await scene.decide(request, "approve");
      }
      await finished(scene, 2);
      assert.deepEqual(await scene.effects(), ["one", "two"]);
      await scene.executed();
    },
  },
});
