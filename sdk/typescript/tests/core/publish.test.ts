import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const run = promisify(execFile);
/** Without what a checkout does not have; the framework tests are not part of a build. */
const ABSENT = ["node_modules", "dist", "build", "adapters", "a2a"];
// The cache is asked first: the compiler is in it where the tests themselves were installed.
const env = { ...process.env, npm_config_prefer_offline: "true", npm_config_audit: "false" };

let work: string;
let clean: string;
let manifest: {
  [field: string]: unknown;
  exports: { [entry: string]: { types: string; default: string } };
};
const imports = () => Object.keys(manifest.exports).map((entry) => join("placet", entry));

/** A program elsewhere that imports every entry, and prints how much each has. */
async function imported(project: string): Promise<number[]> {
  const file = join(project, "all.js");
  const all = imports().map((entry) => `import(${JSON.stringify(entry)})`);
  await writeFile(
    file,
    `console.log(JSON.stringify((await Promise.all([${all}])).map((each) => Object.keys(each).length)))`,
  );
  return JSON.parse((await run(process.execPath, [file])).stdout) as number[];
}

async function install(name: string, what: string): Promise<string> {
  const project = join(work, name);
  await mkdir(project);
  await writeFile(join(project, "package.json"), '{"type":"module","private":true}');
  await run("npm", ["install", "--loglevel=error", what], { cwd: project, env });
  return project;
}

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "placet-publish-"));
  clean = join(work, "clean");
  manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const there = (path: string) =>
    !ABSENT.some((each) => basename(path) === each && !path.includes(`${join("src", "adapters")}`));
  await cp(root, clean, { recursive: true, filter: there });
});
afterAll(() => rm(work, { recursive: true, force: true }));

test("a clean copy of the folder can be installed and imported, and so can what is packed of it", async () => {
  const linked = await imported(await install("linked", clean));
  expect(linked).toHaveLength(imports().length);
  expect(Math.min(...linked)).toBeGreaterThan(0);
  // It is built by now. Somebody who installs the package runs none of its scripts.
  const pack = ["pack", "--ignore-scripts", "--json", "--pack-destination", work];
  const { stdout } = await run("npm", pack, { cwd: clean, env });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  expect(await imported(await install("packed", join(work, filename)))).toEqual(linked);
  const { messages } = await publint({ pkgDir: clean, strict: true });
  expect(messages.map((message) => formatMessage(message, manifest as never, { color: false }))).toEqual([]);
}, 120_000);

test("the manifest has what a registry shows", () => {
  for (const field of ["description", "license", "keywords", "engines"]) {
    expect(manifest[field], field).toBeTruthy();
  }
  expect(manifest.private).toBeUndefined();
});

test("the README stands alone on a registry's page", async () => {
  const text = await readFile(join(root, "README.md"), "utf8");
  const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, to]) => to as string);
  expect(links.filter((to) => !to.startsWith("https://"))).toEqual([]);
});
