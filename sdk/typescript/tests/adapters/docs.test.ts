import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Server } from "../support/server.js";
import { approving, played, snippets } from "../support/snippets.js";
import { startModel } from "./claude-model.js";
import { DECLARED } from "./declared.js";
import { Copy } from "./lives.js";

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const PAGES = Object.keys(DECLARED);

let copy: Copy;
let server: Server;
let person: ReturnType<typeof approving>;
const files = new Map<string, string[]>();
beforeAll(async () => {
  copy = await Copy.make();
  server = await Server.start();
  person = approving(await server.reviewer());
  for (const page of PAGES) {
    const codes = await snippets(path(`../../../../docs/sdk/${page}`));
    const names = codes.map((_, n) => join(copy.folder, `${page.replace(".md", "")}-${n}.ts`));
    await Promise.all(names.map((name, n) => writeFile(name, codes[n] as string)));
    files.set(page, names);
  }
});
afterAll(async () => {
  await person?.stop();
  await server?.stop();
  await copy?.remove();
});

test("every example of the adapters' pages compiles as it is printed", () => {
  const config = ts.getParsedCommandLineOfConfigFile(
    path("tsconfig.json"),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: () => undefined,
    },
  );
  const program = ts.createProgram([...files.values()].flat(), { ...config?.options, noUnusedLocals: false });
  const wrong = ts.getPreEmitDiagnostics(program);
  expect(
    ts.formatDiagnostics(wrong, {
      getCanonicalFileName: (each) => each,
      getCurrentDirectory: () => "",
      getNewLine: () => "\n",
    }),
  ).toBe("");
}, 600_000);

/** Claude Code in a home of its own, with a stand-in for the model. */
async function claude(): Promise<{ env: NodeJS.ProcessEnv; close: () => Promise<unknown> }> {
  const root = await mkdtemp(join(tmpdir(), "placet-claude-docs-"));
  await mkdir(join(root, "home"));
  const call = { id: "toolu_1", tool: "Bash", args: { command: "true", description: "does nothing" } };
  const model = await startModel({ "Clean up.": [[call]] }, new Map());
  const env = {
    ...{ HOME: join(root, "home"), TMPDIR: root, ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: "none" },
    ...{ HTTP_PROXY: model.url, HTTPS_PROXY: model.url, NO_PROXY: "127.0.0.1,localhost" },
    ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1" },
  };
  const close = async () => {
    await model.stop();
    await rm(root, { recursive: true, force: true, maxRetries: 5 });
  };
  return { env, close };
}

test.each(PAGES)(
  "every example of %s runs as it is printed",
  async (page) => {
    const world = page.startsWith("claude") ? await claude() : undefined;
    const declared = join(copy.folder, `${page}.declared.mjs`);
    await writeFile(declared, DECLARED[page] as string);
    for (const file of files.get(page) ?? []) {
      const code = ts.sys.readFile(file) as string;
      const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
      const { outputText } = ts.transpileModule(code, { compilerOptions: options });
      const made = file.replace(/\.ts$/, ".mjs");
      await writeFile(made, outputText);
      const env = { PLACET_URL: server.url, PLACET_TOKEN: server.agentKey, ...world?.env };
      const said = await played(made, declared, env, /refunded o-1/);
      // What the page says that comes of it, where a model can say so.
      const expected = code.includes("// ConfigError")
        ? "ConfigError"
        : page.startsWith("claude")
          ? "result"
          : "refunded o-1";
      if (!code.includes("gate.decided(")) expect(said, file).toContain(expected);
    }
    await world?.close();
  },
  600_000,
);
