// One agent in a world of its own: its home, its folder, its model, and a Placet whose hook it has installed.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { existsSync, renameSync, writeFileSync } from "node:fs";
import { copyFile, link, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { program, Server } from "../../../web/tests/lib/server.mjs";
import { startModel } from "../model.mjs";

/** The slowest agent starts in six seconds. On a machine that is busy otherwise it takes ten times that. */
const LIMIT = 120_000;

/** Where the agents are. */
const BIN = join(import.meta.dirname, "../node_modules/.bin");

/** How the conversation of the agent begins, and that of a subagent. */
const PROMPT = "Carry out the plan.";
const ERRAND = "Run the errand.";

/** The tools by which the four agents run a command, as their hooks name them. */
const SHELLS = '["Bash", "run_shell_command", "bash"]';

const POLICY = `version = 1
name = "real agents"

[defaults]
effect = "hold"
expires_in = "2m"

[[rule]]
name = "free"
effect = "allow"
tool = ${SHELLS}
[rule.args]
command = { matches = '^\\./effect free$' }

[[rule]]
name = "doctor"
effect = "allow"
tool = ${SHELLS}
[rule.args]
command = { matches = '^echo placet-doc.tor-[a-z0-9]+.$' }

[[rule]]
name = "confined"
effect = "allow"
confine = "workspace"
tool = ${SHELLS}
[rule.args]
command = { matches = '^(\\./effect (confined|x && touch [a-z/-]+)|test -d .*)$' }

[[rule]]
name = "delegating"
effect = "allow"
tool = ["Agent", "task", "invoke_agent", "*spawn_agent", "*wait_agent"]

[[rule]]
name = "forbidden"
effect = "deny"
tool = ${SHELLS}
reason = "nobody does this"
[rule.args]
command = { matches = '^\\./effect forbidden$' }

[[rule]]
name = "hurried"
effect = "hold"
expires_in = "3s"
tool = ${SHELLS}
[rule.args]
command = { matches = '^\\./effect late$' }
`;

/** Leaves one line per run, so that the test can count. */
const EFFECT = `#!/bin/sh
echo "$1" >> "$(dirname "$0")/effects"
`;

/**
 * How one agent is set up and started.
 *
 * @typedef {object} Agent
 * @property {string} name      as `placet hook` calls it
 * @property {string} command   its program, in node_modules/.bin
 * @property {"messages" | "responses" | "gemini" | "chat"} dialect
 * @property {(command: string) => { tool: string, input: object }} call   what its model says to run a command
 * @property {(path: string, content: string) => { tool: string, input: object }} [write]   … to write a file
 * @property {(prompt: string) => { tool: string, input: object }[]} delegate   … to have a subagent do it
 * @property {(scene: Scene) => Promise<void>} configure   what a user has before the hook is installed
 * @property {(scene: Scene) => Record<string, string>} environment
 * @property {(prompt: string) => string[]} words   the command line, with every question of its own switched off
 */

export class Scene {
  /**
   * @param {Agent} agent
   * @param {(agent: Agent, scene: Scene) => { calls: (object | object[])[], errand?: object[], insist?: boolean }} plan   what the
   *   model will ask for, in this order, what the model of a subagent will, and whether it asks for what it is not offered
   * @param {(scene: Scene) => Promise<void>} [install]   puts the hook in place
   */
  static async open(agent, plan, install = installHook) {
    const scene = new Scene();
    scene.agent = agent;
    scene.variables = {};
    scene.prompt = PROMPT;
    scene.root = await mkdtemp(join(tmpdir(), `placet-${agent.name}-`));
    scene.home = join(scene.root, "home");
    scene.work = join(scene.root, "work");
    scene.program = join(scene.root, "bin/placet");
    await Promise.all([scene.home, scene.work, join(scene.root, "bin")].map((folder) => mkdir(folder)));
    // A name of its own for the program, which a test may take away or give to another.
    await link(program(), scene.program).catch(() => copyFile(program(), scene.program));
    await writeFile(join(scene.work, "effect"), EFFECT, { mode: 0o755 });
    const { calls, errand = [], insist } = plan(agent, scene);
    const plans = { [PROMPT]: numbered("call", calls), [ERRAND]: numbered("errand", errand) };
    scene.model = await startModel(agent.dialect, plans, insist);
    scene.server = await Server.start({ policy: POLICY });
    scene.rita = await scene.server.reviewer();
    scene.key = (await scene.server.agent(agent.name)).token;
    await agent.configure(scene);
    await install(scene);
    return scene;
  }

  /** Nothing of the machine's own configuration gets in, and the only way out leads to the stand-in. */
  environment() {
    const proxy = this.model.url;
    const open = "127.0.0.1,localhost";
    return {
      PATH: process.env.PATH,
      LANG: "C.UTF-8",
      TERM: "xterm-256color",
      HOME: this.home,
      TMPDIR: this.root,
      XDG_CONFIG_HOME: join(this.home, ".config"),
      XDG_DATA_HOME: join(this.home, ".local/share"),
      XDG_STATE_HOME: join(this.home, ".local/state"),
      XDG_CACHE_HOME: join(this.home, ".cache"),
      ...{ HTTP_PROXY: proxy, HTTPS_PROXY: proxy, http_proxy: proxy, https_proxy: proxy },
      ...{ NO_PROXY: open, no_proxy: open },
      PLACET_URL: this.server.url,
      PLACET_TOKEN: this.key,
      ...this.agent.environment(this),
      ...this.variables,
    };
  }

  /** Starts the agent. The promise is kept when it has ended. */
  start(words = this.agent.words(this.prompt)) {
    this.running = run(join(BIN, this.agent.command), words, { cwd: this.work, env: this.environment() }, LIMIT);
    return this.running;
  }

  /** Runs the product's command line as the user of the agent would. */
  async placet(...words) {
    const ended = await this.run(this.program, words);
    assert.equal(ended.code, 0, `placet ${words.join(" ")} failed:\n${ended.output}`);
    return ended.output;
  }

  /** Runs a program as the user of the agent would, who can start the agent by its name. */
  run(path, words) {
    const { PATH, ...others } = this.environment();
    const env = { ...others, PATH: `${BIN}:${PATH}` };
    return run(path, words, { cwd: this.work, env }, LIMIT);
  }

  /** The requests that wait for a person, as soon as there are any; nothing if the agent has ended. */
  async waiting() {
    let over = false;
    this.running?.then(() => {
      over = true;
    });
    for (;;) {
      // Looked at before the list is: what was asked before the end is in the list.
      const ended = over;
      const { items } = await this.rita.get("/v1/requests?state=pending");
      if (items.length > 0 || ended) {
        return items;
      }
      await sleep(50);
    }
  }

  /** The one request that waits. */
  async pending() {
    const requests = await this.waiting();
    assert.ok(requests.length > 0, "the agent ended without asking");
    assert.equal(requests.length, 1, "one call is one request");
    return requests[0];
  }

  /** Everything that was ever asked, oldest first. */
  async requests() {
    return (await this.rita.get("/v1/requests")).items.reverse();
  }

  async states() {
    return (await this.requests()).map((request) => request.state);
  }

  /** Every request was approved, its permit claimed, and what came of it reported: the record agrees with what ran. */
  async executed() {
    const requests = await this.requests();
    const states = requests.map((request) => request.state);
    assert.deepEqual(
      states,
      (await this.effects()).map(() => "succeeded"),
      "one permit for each effect",
    );
    return requests;
  }

  decide(request, decision, more = {}) {
    const { digest, version } = request;
    return this.rita.post(`/v1/requests/${request.id}/decision`, { decision, digest, version, ...more });
  }

  /** What ran, in order: the one thing that counts. */
  async effects() {
    const file = join(this.work, "effects");
    return existsSync(file) ? (await readFile(file, "utf8")).trimEnd().split("\n") : [];
  }

  /** The same program, started later and elsewhere, has run: a call that was not held would have run before it. */
  async fence() {
    const elsewhere = join(this.root, "fence");
    await mkdir(elsewhere, { recursive: true });
    await copyFile(join(this.work, "effect"), join(elsewhere, "effect"));
    for (let turn = 0; turn < 5; turn += 1) {
      const options = { cwd: elsewhere, env: { PATH: process.env.PATH } };
      assert.equal((await run(join(elsewhere, "effect"), ["fence"], options, LIMIT)).code, 0);
      // And the server has answered, which the hook of a call that is not held would not have waited for.
      await this.requests();
    }
  }

  /** What the model was told of its calls, in order. */
  told() {
    return [...this.model.seen.results.values()];
  }

  /** What the agent has printed so far. */
  said() {
    return this.running?.child.said() ?? "(it was not started)";
  }

  /** Ends the hook that waits, by the hardest signal. */
  async killHook() {
    const hooks = await descendants(this.running.child.pid, this.program);
    assert.equal(hooks.length, 1, "one hook waits");
    process.kill(hooks[0], "SIGKILL");
  }

  /** As if Placet had been uninstalled, and the hook forgotten. */
  async removeProgram() {
    await rm(this.program);
  }

  /** Changes one of the user's files. */
  async change(file, how) {
    const path = join(this.home, file);
    const before = await readFile(path, "utf8");
    const after = how(before);
    assert.notEqual(after, before, `nothing to change in ${file}`);
    await writeFile(path, after);
  }

  /** Another program takes the place of ours. */
  async replaceProgram(script) {
    await rm(this.program);
    await writeFile(this.program, script, { mode: 0o755 });
  }

  async close() {
    this.running?.child.end();
    await this.running;
    await this.model.stop();
    await this.server.stop();
    if (!process.env.PLACET_KEEP) {
      await rm(this.root, { recursive: true, force: true });
    }
    assert.deepEqual(this.model.seen.refused, [], "the agent used an API that the stand-in does not have");
    assert.deepEqual(this.model.seen.outside, [], "the agent tried to get out");
  }
}

/** Gives every call an id. Calls that stand in a list of their own are asked for in one turn. */
function numbered(name, turns) {
  let count = 0;
  const number = (call) => {
    count += 1;
    return { id: `${name}_${count}`, ...call };
  };
  return turns.map((turn) => [turn].flat().map(number));
}

/** One command after another. */
export const commands =
  (...lines) =>
  (agent) => ({ calls: lines.map(agent.call) });

/** A subagent runs the command. */
export const delegated = (line) => (agent) => ({ calls: agent.delegate(ERRAND), errand: [agent.call(line)] });

/**
 * An agent that drops what it is handed and runs the original, seen from its hook: to Claude Code and Codex silence is consent here,
 * to the others a plain yes. A shell, because the hook looks past shells for the program that it belongs to.
 */
const DROPS = `#!/bin/sh
said=$("PROGRAM" "$@")
code=$?
case "$said" in
  *'"updatedInput"'*) ;;
  *'"tool_input"'* | *'"args"'*) echo '{"decision":"allow"}' ;;
  *) printf '%s' "$said" ;;
esac
exit $code
`;

/** From now on the agent runs what it asked for, whatever it is handed. */
export function drops(scene) {
  const mine = join(scene.root, "bin/placet-itself");
  renameSync(scene.program, mine);
  writeFileSync(scene.program, DROPS.replace("PROGRAM", mine), { mode: 0o755 });
}

/** As the documentation says. */
export async function installHook(scene, ...options) {
  await scene.placet("hook", "install", scene.agent.name, "--user", ...options);
}

/**
 * Runs a program in a process group of its own, and ends the whole group when it takes too long.
 *
 * @returns {Promise<{ code: number | null, output: string, late: boolean }> & { child: { pid: number, end(): void, said(): string } }}
 */
function run(path, words, options, limit) {
  const child = spawn(path, words, { ...options, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const end = () => {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  };
  let output = "";
  let late = false;
  const take = (chunk) => {
    output = (output + chunk).slice(-20_000);
  };
  child.stdout.on("data", take);
  child.stderr.on("data", take);
  const timer = setTimeout(() => {
    late = true;
    end();
  }, limit);
  const ended = new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve({ code, output, late });
    });
  });
  return Object.assign(ended, { child: { pid: child.pid, end, said: () => output } });
}

/** The processes below `root` that run this program. */
async function descendants(root, program) {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid=,args="], {
    maxBuffer: 1 << 24,
  });
  const rows = stdout
    .trim()
    .split("\n")
    .map((row) => row.trim().split(/\s+/));
  const below = new Set([String(root)]);
  // A child may be listed before its parent when process ids have wrapped around.
  for (let size = 0; size !== below.size; ) {
    size = below.size;
    for (const [pid, parent] of rows) {
      if (below.has(parent)) {
        below.add(pid);
      }
    }
  }
  return rows.filter(([pid, , path]) => below.has(pid) && path === program).map(([pid]) => Number(pid));
}
