// Installs the agents that are named, or all: `npm run agents [-- NAME…]`. Makes sure that each starts, and writes down which the registry does not have for this platform.
//
// An agent that is wanted is left out only for that reason, and by name. Everything else that goes wrong is an error: a test that does
// not run must not look like one that passes.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LIST } from "./lib/absence.mjs";

const here = import.meta.dirname;
const platform = `${process.platform}-${process.arch}`;
const agents = [
  { name: "claude-code", package: "@anthropic-ai/claude-code", command: "claude" },
  { name: "codex", package: "@openai/codex", command: "codex" },
  { name: "gemini", package: "@google/gemini-cli", command: "gemini" },
  { name: "opencode", package: "opencode-ai", command: "opencode" },
];

const named = process.argv.slice(2);
for (const name of named) {
  if (!agents.some((agent) => agent.name === name)) {
    throw new Error(`there is no agent ${name}: name some of ${agents.map((agent) => agent.name).join(", ")}`);
  }
}
const chosen = agents.filter(({ name }) => named.length === 0 || named.includes(name));

const { agents: wanted, devDependencies } = JSON.parse(await readFile(join(here, "package.json"), "utf8"));
if (await installed()) {
  console.log("the agents are installed");
} else {
  const packages = chosen.map((agent) => `${agent.package}@${wanted[agent.package]}`);
  const options = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"];
  const words = ["install", ...options, ...packages];
  console.log(`npm ${words.join(" ")}`);
  const result = await run("npm", words, 600_000);
  if (result.code !== 0) {
    throw new Error(`npm could not install the agents:\n${result.output}`);
  }
}

// Written again when all is well: after a failure everything is installed anew.
await rm(LIST, { force: true });
const found = {};
for (const agent of chosen) {
  const version = wanted[agent.package];
  const absent = await missing(agent, version);
  found[agent.name] = absent ? { absent } : { version };
  console.log(absent ? `NOT TESTED: ${absent}` : `${agent.name} ${version} starts`);
}
if (chosen.every(({ name }) => found[name].absent)) {
  throw new Error("not one agent could be installed");
}
for (const { name } of agents) {
  found[name] ??= { absent: `${name}, because only ${named.join(" and ")} were asked for` };
}
await writeFile(LIST, `${JSON.stringify(found, null, 2)}\n`);

/** Whether the last install was complete, and has these packages in these versions. */
async function installed() {
  if (!existsSync(LIST)) {
    return false;
  }
  const names = [...chosen.map((agent) => agent.package), ...Object.keys(devDependencies)];
  for (const name of names) {
    const text = await readFile(join(here, "node_modules", name, "package.json"), "utf8").catch(() => "{}");
    if (JSON.parse(text).version !== (wanted[name] ?? devDependencies[name])) {
      return false;
    }
  }
  return true;
}

/** Why the agent cannot be tested here; nothing if it starts. */
async function missing(agent, version) {
  const home = await mkdtemp(join(tmpdir(), "placet-agent-"));
  const said = await run(join(here, "node_modules/.bin", agent.command), ["--version"], 60_000, {
    HOME: home,
  });
  await rm(home, { recursive: true, force: true });
  if (said.code === 0 && said.output.includes(version)) {
    return undefined;
  }
  const failure = `${agent.name} ${version} does not start:\n${said.output}`;
  const folder = join(here, "node_modules", agent.package);
  const parts = JSON.parse(await readFile(join(folder, "package.json"), "utf8")).optionalDependencies ?? {};
  const native = Object.entries(parts).filter(([name]) => name.includes(platform));
  const absent = native.filter(([name]) => !existsSync(join(here, "node_modules", name)));
  if (native.length > 0 && absent.length < native.length) {
    throw new Error(failure);
  }
  for (const [name, spec] of absent) {
    const full = spec.startsWith("npm:") ? spec.slice("npm:".length) : `${name}@${spec}`;
    const view = await run("npm", ["view", full, "version", "--loglevel=error"], 60_000);
    // An answer that is empty says the same as a 404: the package is there, this version is not.
    const lacking = view.output.includes("E404") || (view.code === 0 && view.output.trim() === "");
    if (!lacking) {
      throw new Error(`${failure}\n${full} is in the registry, but npm did not install it`);
    }
  }
  return `${agent.name}, because the registry has none for ${platform}`;
}

/** @returns {Promise<{ code: number, output: string }>} */
function run(program, words, timeout, env = {}) {
  return new Promise((resolve) => {
    const options = { cwd: here, timeout, env: { ...process.env, ...env }, maxBuffer: 1 << 24 };
    execFile(program, words, options, (error, stdout, stderr) => {
      const failed = error ? `\n${error.message}` : "";
      resolve({ code: error ? (error.code ?? 1) : 0, output: stdout + stderr + failed });
    });
  });
}
