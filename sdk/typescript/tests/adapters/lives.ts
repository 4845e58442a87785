/** The programs of examples/resume: begun, killed and started again. */
import { type ChildProcess, spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect } from "vitest";
import { BOUND, type Server } from "../support/server.js";

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

export type Program = "langgraph" | "openai-agents" | "vercel-ai" | "mastra";

/** Ends the process at a call of `fetch` that fits `DIE_AT`, before it is sent: `POST /v1/requests?claim=true`. */
const DIE = `
const { fetch } = globalThis;
const at = process.env.DIE_AT;
globalThis.fetch = (target, init = {}) => {
  const { pathname, search } = new URL(target);
  if (at && \`\${init.method ?? "GET"} \${pathname}\${search}\` === at) process.kill(process.pid, "SIGKILL");
  return fetch(target, init);
};
`;

/** A copy of the example with the package as it stands, beside the packages of the frameworks. */
export class Copy {
  private constructor(readonly folder: string) {}

  static async make(): Promise<Copy> {
    const folder = await mkdtemp(path("example-"));
    await cp(path("../../../../examples/resume"), folder, {
      recursive: true,
      filter: (file) => !file.includes("node_modules"),
    });
    await writeFile(join(folder, "die.mjs"), DIE);
    const placet = join(folder, "node_modules/placet");
    await mkdir(placet, { recursive: true });
    await cp(path("../../package.json"), join(placet, "package.json"));
    const options = {
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ES2022,
      verbatimModuleSyntax: true,
    };
    for (const file of await readdir(path("../../src"), { recursive: true })) {
      if (!file.endsWith(".ts")) continue;
      const made = join(placet, "dist", file.replace(/\.ts$/, ".js"));
      await mkdir(dirname(made), { recursive: true });
      const text = await readFile(path(`../../src/${file}`), "utf8");
      await writeFile(made, ts.transpileModule(text, { compilerOptions: options }).outputText);
    }
    return new Copy(folder);
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }
}

/** One folder of a program, and its lives one after the other. */
export class Lives {
  #child: ChildProcess | undefined;
  #gone: Promise<unknown> = Promise.resolve();
  /** What the life that is, or was last, has said. */
  said = "";
  errors = "";

  private constructor(
    private readonly copy: Copy,
    private readonly program: Program,
    private readonly server: Server,
    readonly folder: string,
  ) {}

  static async begin(copy: Copy, program: Program, server: Server): Promise<Lives> {
    return new Lives(copy, program, server, await mkdtemp(join(tmpdir(), "placet-lives-")));
  }

  /** Starts it. */
  start(runs: string[], more: NodeJS.ProcessEnv = {}): void {
    const { url, agentKey } = this.server;
    const env = { ...process.env, PLACET_URL: url, PLACET_TOKEN: agentKey, ...more };
    const args = ["--import", "./die.mjs", `${this.program}.mjs`, this.folder, ...runs];
    const child = spawn(process.execPath, args, { cwd: this.copy.folder, env });
    this.#child = child;
    this.said = "";
    this.errors = "";
    child.stdout.on("data", (chunk: Buffer) => {
      this.said += chunk;
    });
    child.stderr.on("data", (chunk: Buffer) => {
      this.errors += chunk;
    });
    this.#gone = new Promise((done) => child.once("close", done));
  }

  /** Waits until it says something. */
  async hears(what: RegExp | string): Promise<void> {
    const fits = () => (typeof what === "string" ? this.said.includes(what) : what.test(this.said));
    await expect.poll(() => fits() || this.#ended(), { timeout: BOUND }).toBe(true);
    expect(fits(), `${this.said}\n${this.errors}`).toBe(true);
  }

  /** Waits until it has ended, however. Its exit code, and nothing when it was killed. */
  async ended(): Promise<number | undefined> {
    await this.#gone;
    return this.#child?.exitCode ?? undefined;
  }

  async kill(): Promise<void> {
    if (!this.#ended()) this.#child?.kill("SIGKILL");
    await this.#gone;
  }

  /** What happened in the world, a line each time. */
  async effects(): Promise<string[]> {
    const text = await readFile(join(this.folder, "effects"), "utf8").catch(() => "");
    return text.split("\n").filter((line) => line !== "");
  }

  async close(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  #ended(): boolean {
    return this.#child?.exitCode !== null || this.#child.signalCode !== null;
  }
}
