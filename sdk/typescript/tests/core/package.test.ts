import { execFile, execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { chromium } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { DecisionWord, RequestRecord } from "../../src/index.js";
import { BadProxy } from "../support/proxy.js";
import { BOUND, type Reviewer, Server } from "../support/server.js";
import { approving, played, snippets } from "../support/snippets.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const run = promisify(execFile);
/** A project of somebody who installed the package. */
let consumer: string;
let installed: string;
let size = 0;

beforeAll(async () => {
  consumer = await mkdtemp(join(tmpdir(), "placet-consumer-"));
  installed = join(consumer, "node_modules/placet");
  await mkdir(installed, { recursive: true });
  const { stdout } = await run(
    "npm",
    ["pack", "--json", "--loglevel=error", "--pack-destination", consumer],
    { cwd: root },
  );
  // What the build itself says comes before the list.
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf("[\n"))) as [{ filename: string }];
  size = (await stat(join(consumer, filename))).size;
  execFileSync("tar", ["-xzf", join(consumer, filename), "-C", installed, "--strip-components=1"]);
  await writeFile(join(consumer, "package.json"), '{"type":"module","private":true}');
}, 120_000);
afterAll(() => rm(consumer, { recursive: true, force: true }));

interface Manifest {
  version: string;
  dependencies?: object;
  exports: { [path: string]: { types: string; default: string } };
}
const manifest = async () => JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as Manifest;

test("the package has no dependencies, its types, its licence, and nothing else", async () => {
  const { dependencies, exports } = await manifest();
  expect(dependencies ?? {}).toEqual({});
  const files = (await readdir(installed, { recursive: true, withFileTypes: true }))
    .filter((each) => each.isFile())
    .map((each) => relative(installed, join(each.parentPath, each.name)));
  expect(files.filter((each) => !/^dist\/.*(\.js|\.d\.ts)$/.test(each)).sort()).toEqual([
    "LICENSE",
    "README.md",
    "package.json",
  ]);
  // Every entry whose source is there is in the package, with its types.
  const entries = Object.values(exports).filter((each) => {
    return existsSync(join(root, each.default.replace("./dist/", "src/").replace(/\.js$/, ".ts")));
  });
  expect(entries.length).toBeGreaterThanOrEqual(2);
  for (const { types, default: code } of entries) {
    expect(files).toContain(types.slice(2));
    expect(files).toContain(code.slice(2));
  }
  console.log(`placet-${(await manifest()).version}.tgz: ${size} bytes, ${files.length} files`);
});

test("the core imports nothing but itself, so that browsers load it as it is", async () => {
  const seen = new Set<string>();
  const follow = async (file: string) => {
    if (seen.has(file)) return;
    seen.add(file);
    const text = await readFile(file, "utf8");
    for (const [, from] of text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)) {
      expect(from, `${relative(installed, file)} imports ${from}`).toMatch(/^\.\.?\//);
      await follow(join(file, "..", from as string));
    }
  };
  await follow(join(installed, "dist/index.js"));
  await follow(join(installed, "dist/testing/index.js"));
  await follow(join(installed, "dist/resume/index.js"));
  expect(seen.size).toBeGreaterThan(10);
});

/** Compiles files of the consumer as strictly as its author may have it, the package's own types included. */
async function compile(
  name: string,
  module: string,
  moduleResolution: string,
  files: string[],
  types: string[] = [],
): Promise<void> {
  const lib = ["ES2022", "DOM"];
  const typeRoots = [join(root, "node_modules/@types")];
  const compilerOptions = { module, moduleResolution, target: "ES2022", strict: true, lib, types, typeRoots };
  const config = join(consumer, `tsconfig.${name}.json`);
  await writeFile(config, JSON.stringify({ compilerOptions, files: files.map((each) => `${each}.ts`) }));
  await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", config]).catch(
    (error) => {
      throw new Error(error.stdout);
    },
  );
}

const PROGRAM = `
import { type Call, gate, type Held, type JsonObject, type Refusal, session } from "placet";
import { approve, Gateway } from "placet/testing";

const gateway = new Gateway({ decide: approve });
const remove = gate(async (args: { path: string }) => args.path.length, { tool: "remove", client: gateway.client() });
const strict = gate((from: string, times: number) => from.repeat(times), {
  params: ["from", "times"], tool: "strict", onDenied: "raise", client: gateway.client(),
});
const result: number | Refusal = await session("s1", () => remove({ path: "abc" }));
const text: string = await strict("ab", 2);
const call: Call = { tool: "t", arguments: { a: [1, null, { b: "c" }] } satisfies JsonObject };
const held: Held = await gateway.client().hold(call);
console.log(JSON.stringify([result, text, held.go, gateway.requests.map((each) => each.session).slice(0, 1)]));
// @ts-expect-error: a wrong argument is seen by the compiler
const wrong = () => remove({ path: 7 });
// @ts-expect-error: there is no way to let an outage pass
const open = () => gate(remove, { onOutage: "allow" });
void [wrong, open];
`;

test.each([
  ["NodeNext", "NodeNext"],
  ["ESNext", "Bundler"],
])(
  "a program that uses it compiles with module %s and resolution %s, and runs",
  async (module, moduleResolution) => {
    const name = `program-${module.toLowerCase()}`;
    await writeFile(join(consumer, `${name}.ts`), PROGRAM);
    await compile(name, module, moduleResolution, [name]);
    const { stdout } = await run(process.execPath, [join(consumer, `${name}.js`)]);
    expect(JSON.parse(stdout)).toEqual([3, "abab", true, ["s1"]]);
  },
  120_000,
);

/** What examples declare and do not make: a set of tools, and runs of which one waits for nothing. */
const DECLARED = `
import { Placet } from "placet";
import { createGate } from "placet/ai";
globalThis.agent = createGate().tools({ refund: { inputSchema: {}, execute: () => "refunded" } });
const waiting = new Set(["run-1"]);
const paused = (id) => (waiting.has(id) ? { id, requests: [] } : undefined);
globalThis.runs = {
  client: new Placet(),
  framework: "none",
  waiting: async () => [...waiting].map(paused),
  find: async (id) => paused(id),
  goOn: async (id) => waiting.delete(id),
};
`;

test("every example of the core's documentation compiles and runs as it is printed", async () => {
  const pages = ["README.md", "../../docs/sdk/typescript.md", "../../docs/sdk/README.md"];
  const examples = (await Promise.all(pages.map((page) => snippets(join(root, page))))).flat();
  expect(examples.length).toBeGreaterThanOrEqual(11);
  const names = examples.map((_, n) => `example-${n}`);
  await Promise.all(names.map((name, n) => writeFile(join(consumer, `${name}.ts`), examples[n] as string)));
  await writeFile(join(consumer, "declared.js"), DECLARED);
  await compile("examples", "NodeNext", "NodeNext", names, ["node"]);
  const server = await Server.start();
  const person = approving(await server.reviewer());
  const env = { PLACET_URL: server.url, PLACET_TOKEN: server.agentKey };
  const said = await Promise.all(
    names.map((name) => played(join(consumer, `${name}.js`), "./declared.js", env, /went on/)),
  );
  await person.stop();
  await server.stop();
  expect(said.join("")).toContain("not in a test");
}, 120_000);

const WAITS = `
import { approve, Gateway } from "placet/testing";
process.stderr.isTTY = process.argv[2] === "terminal";
const gateway = new Gateway();
const running = gateway.client(JSON.parse(process.argv[3])).run({ tool: "delete_files", arguments: {} }, () => "ran");
await gateway.decide((await gateway.pending()).id, approve());
console.log(await running);
`;

test("a program with a terminal prints one line for a call that waits, and no other program prints any", async () => {
  const file = join(consumer, "waits.js");
  await writeFile(file, WAITS);
  const said = async (place: string, options: object, quiet = "") => {
    const env = { ...process.env, PLACET_QUIET: quiet };
    const { stdout, stderr } = await run(process.execPath, [file, place, JSON.stringify(options)], { env });
    expect(stdout).toBe("ran\n");
    return stderr;
  };
  expect(await said("terminal", {})).toMatch(
    /^placet: delete_files waits for a person, (5 min|4 min 5\d s) left: http:\/\/placet\.invalid\/r\/req_\S+\n$/,
  );
  expect(await said("elsewhere", {})).toBe("");
  expect(await said("terminal", { onWaiting: null })).toBe("");
  expect(await said("terminal", {}, "1")).toBe("");
});

test("a program ends by itself when its calls are done", async () => {
  const server = await Server.start();
  const ann = await server.reviewer();
  const file = join(consumer, "ends.js");
  await writeFile(
    file,
    `import { Placet } from "placet";
     const held = await new Placet().hold({ tool: "ends", arguments: {} });
     await held.succeeded();
     console.log(held.status);`,
  );
  const env = { ...process.env, PLACET_URL: server.url, PLACET_TOKEN: server.agentKey };
  const program = run(process.execPath, [file], { env, timeout: BOUND });
  await ann.approve();
  expect((await program).stdout.trim()).toBe("approved");
  await server.stop();
});

test("the example plays to its end", async () => {
  // It uses `dist`, which packing has just built.
  const { stdout } = await run(join(root, "../../examples/typescript/try.sh"), [], { timeout: BOUND });
  expect(stdout).toContain('tool:  {"deleted":["old.log"]}');
  expect(stdout).toContain('"reason":"ask accounting"');
  expect(stdout).toContain("only what was approved is gone");
}, 90_000);

/** One life of an agent: it may end at any moment. */
const AGENT = `
import { appendFileSync } from "node:fs";
import { Placet } from "placet";
const [round, file, strong] = process.argv.slice(2);
const call = { tool: "effect", arguments: { round }, session: "rounds-" + round, ...(strong ? { keys: { strong } } : {}) };
console.log("up");
const result = await new Placet({ timeout: 2000 }).run(call, async () => {
  appendFileSync(file, round + "\\n");
  await new Promise((done) => setTimeout(done, 150));
  return "ran";
});
console.log("done " + (result === "ran" ? "ran" : result.status));
`;

/** Says one word to the first request, and no to every further one: a second yes would be a second run. */
function decider(ann: Reviewer, mine: (record: RequestRecord) => boolean, first: DecisionWord) {
  let [word, going] = [first, true];
  const work = async () => {
    while (going) {
      for (const { id, digest, version } of (await ann.client.list({ state: "pending" })).items.filter(
        mine,
      )) {
        await ann.client.decide(id, word, { digest, version });
        word = "deny";
      }
      await new Promise((done) => setTimeout(done, 20));
    }
  };
  const working = work();
  return {
    stop: async () => {
      going = false;
      await working;
    },
  };
}

test("a call never runs twice and never undecided, however often its process is killed", async () => {
  const rounds = Number(process.env.PLACET_ROUNDS ?? (process.env.PLACET_LONG === "1" ? 12 : 4));
  const server = await Server.start();
  const ann = await server.reviewer();
  const file = join(consumer, "effects");
  await writeFile(file, "");
  const program = join(consumer, "agent.js");
  await writeFile(program, AGENT);
  const env = { ...process.env, PLACET_URL: server.url, PLACET_TOKEN: server.agentKey };
  const seen = { killed: 0, ran: 0, unknown: 0, denied: 0 };
  for (let round = 1; round <= rounds; round += 1) {
    const deny = round % 4 === 0;
    // With a call id of a framework, or with nothing but the name of the session.
    const key = round % 2 === 0 ? [`round-${round}`] : [];
    const mine = (record: RequestRecord) => record.arguments?.round === String(round);
    const person = decider(ann, mine, deny ? "deny" : "approve");
    for (let life = 0; ; life += 1) {
      const child = spawn(process.execPath, [program, String(round), file, ...key], {
        env,
        stdio: ["ignore", "pipe", "inherit"],
      });
      let said = "";
      const up = new Promise<void>((done) => {
        child.stdout.on("data", (chunk: Buffer) => {
          said += chunk;
          done();
        });
        child.once("exit", () => done());
      });
      const gone = new Promise((done) => child.once("exit", done));
      await up;
      if (life < 3) {
        // Early in its first life, so that it is killed for certain, and later in the others.
        setTimeout(() => child.kill("SIGKILL"), Math.random() * (50 + life * 225));
        await gone;
      }
      await gone;
      const ended = /done (\w+)/.exec(said)?.[1];
      if (ended === undefined) {
        seen.killed += 1;
        continue;
      }
      if (ended in seen) seen[ended as keyof typeof seen] += 1;
      break;
    }
    await person.stop();
    const effects = (await readFile(file, "utf8")).split("\n").filter((line) => line === String(round));
    expect(effects.length, `round ${round} ran ${effects.length} times`).toBeLessThanOrEqual(1);
    if (deny) expect(effects).toEqual([]);
  }
  console.log(`${rounds} rounds: ${JSON.stringify(seen)}`);
  expect(seen.killed).toBeGreaterThan(0);
  await server.stop();
}, 600_000);

const PAGE = `<!doctype html><meta charset="utf-8"><title>an agent in a page</title>
<script type="module">
import { ConfigError, gate, Placet, Session, session } from "/placet/index.js";
import { approve, Gateway } from "/placet/testing/index.js";
const [url, token] = [location.origin, new URLSearchParams(location.hash.slice(1)).get("token")];
const gateway = new Gateway({ decide: approve });
const double = (args) => args.n * 2;
const inMemory = await gate(double, { tool: "double", client: gateway.client(), in: new Session({ id: "page" }) })({ n: 4 });
let noStore = "";
try { session("s", () => 1); } catch (error) { noStore = error instanceof ConfigError ? error.message : String(error); }
const placet = new Placet({ url, token });
document.title = "asking";
const approved = await gate(double, { tool: "page.double", client: placet })({ n: 21 });
const denied = await gate(double, { tool: "page.denied", client: placet })({ n: 1 });
document.body.textContent = JSON.stringify({ inMemory, noStore, approved, denied });
document.title = "done";
</script>`;

test("a page asks, waits on a stream and runs what was approved, with the files as they are built", async () => {
  const server = await Server.start();
  const ann = await server.reviewer();
  const proxy = await BadProxy.start(server.url);
  const files = new Map<string, string>();
  for (const each of await readdir(join(installed, "dist"), { recursive: true })) {
    if (each.endsWith(".js"))
      files.set(`/placet/${each}`, await readFile(join(installed, "dist", each), "utf8"));
  }
  // The page and the service under one name, as a proxy in front of both would have it.
  proxy.rule = (call) => {
    const path = call.slice("GET ".length);
    if (path === "/page") return { status: 200, body: PAGE };
    const body = files.get(path);
    return body === undefined ? undefined : { status: 200, type: "text/javascript", body };
  };
  const executablePath = process.env.PLACET_CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const page = await browser.newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(`${proxy.url}/page#token=${server.agentKey}`);
    await ann.approve((record) => record.tool === "page.double");
    await ann.deny("not from a page", (record) => record.tool === "page.denied");
    await page.waitForFunction(() => document.title === "done", undefined, { timeout: BOUND });
    expect(JSON.parse((await page.textContent("body")) ?? "")).toMatchObject({
      inMemory: 8,
      noStore: expect.stringContaining("no AsyncLocalStorage"),
      approved: 42,
      denied: { status: "denied", reason: "not from a page" },
    });
    expect(errors).toEqual([]);
    expect(proxy.count("GET /v1/stream")).toBeGreaterThan(0);
  } finally {
    await browser.close();
    await proxy.stop();
    await server.stop();
  }
}, 60_000);
