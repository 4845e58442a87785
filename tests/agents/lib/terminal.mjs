// An agent at a terminal, with somebody in front of it.

import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pty from "@lydell/node-pty";

/** How often a key is pressed until it has an effect: a dialog takes none in its first moments. */
const PRESSES = 120;

/** Starts the agent of a scene at a terminal. It does not end by itself: closing the scene ends it. */
export function atTerminal(scene, words) {
  const bin = join(import.meta.dirname, "../node_modules/.bin", scene.agent.command);
  const size = { cols: 120, rows: 40 };
  const terminal = pty.spawn(bin, words, { ...size, cwd: scene.work, env: scene.environment() });
  let output = "";
  terminal.onData((data) => {
    output = (output + data).slice(-200_000);
  });
  const ended = new Promise((resolve) => {
    terminal.onExit(({ exitCode }) => resolve({ code: exitCode, output, late: false }));
  });
  const end = () => {
    try {
      process.kill(-terminal.pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  };
  scene.running = Object.assign(ended, { child: { pid: terminal.pid, end, said: () => output } });
  return {
    /** Waits until this is on the screen. */
    async shows(text) {
      for (let look = 0; !output.includes(text); look += 1) {
        assert.ok(look < 1_200, `“${text}” never appeared`);
        await sleep(50);
      }
    },

    /** Presses a key until the model was told what came of its call. */
    async presses(key) {
      for (let press = 0; scene.told().length === 0; press += 1) {
        assert.ok(press < PRESSES, "the key had no effect");
        terminal.write(key);
        await sleep(500);
      }
    },
  };
}

/** What the model is told of its first call. */
export async function told(scene) {
  for (let look = 0; scene.told().length === 0; look += 1) {
    assert.ok(look < 1_200, "the model was never told what came of its call");
    await sleep(50);
  }
  return scene.told()[0];
}

/** The one request, once it is in this state. */
export async function becomes(scene, state) {
  for (let look = 0; ; look += 1) {
    const states = await scene.states();
    if (states.length === 1 && states[0] === state) {
      return;
    }
    assert.ok(look < 1_200, `it does not become ${state}: ${states}`);
    await sleep(50);
  }
}
