// Starts the real program on a free port with a folder of its own, and speaks to it as admin, agent or reviewer.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const web = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const BOOTSTRAP = "bootstrap-token-of-the-browser-tests-0123456789";

/** Every risk by the tool's name, one rule that needs two people, one that allows and one that denies. */
export const POLICY = `version = 1
name = "browser tests"

[defaults]
effect = "hold"
risk = "low"
expires_in = "1h"

[[rule]]
name = "reading"
effect = "allow"
tool = "free.*"
reason = "only reads"

[[rule]]
name = "never"
effect = "deny"
tool = "never.*"
reason = "nobody does this"

[[rule]]
name = "medium"
effect = "hold"
risk = "medium"
tool = ["medium.*", "send_mail", "http_request", "edit_file"]

[[rule]]
name = "high"
effect = "hold"
risk = "high"
tool = ["high.*", "Bash", "query_database", "pay"]
reason = "cannot be taken back"

[[rule]]
name = "critical"
effect = "hold"
risk = "critical"
tool = "critical.*"
reason = "the whole house depends on it"

[[rule]]
name = "two-people"
effect = "hold"
risk = "low"
tool = "two.*"
needs = { people = 2 }
reason = "two people look at this"
`;

/** Where the program is: `PLACET_BIN`, or the debug build beside this folder. */
export function program() {
  const path = process.env.PLACET_BIN
    ? resolve(process.env.PLACET_BIN)
    : resolve(web, "../target/debug/placet");
  if (!existsSync(path)) {
    throw new Error(
      `no program at ${path}: build it with \`cargo build -p placet\`, or name one in PLACET_BIN`,
    );
  }
  return path;
}

/** Ends a wait that fails. Nothing depends on how long a wait takes. */
export const BOUND = 60_000;

/** One caller: JSON in, `{status, body, headers}` out. */
export class Api {
  constructor(url, token) {
    this.url = url;
    this.token = token;
  }

  async call(method, path, body, headers = {}) {
    const answer = await fetch(this.url + path, {
      method,
      headers: {
        ...(this.token ? { authorization: `Bearer ${this.token}` } : {}),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
      redirect: "manual",
    });
    const text = await answer.text();
    let parsed = text;
    try {
      parsed = text === "" ? null : JSON.parse(text);
    } catch {
      // Pages and streams are text.
    }
    return { status: answer.status, body: parsed, headers: answer.headers };
  }

  /** The body of a call that must succeed. */
  async ok(method, path, body, headers) {
    const answer = await this.call(method, path, body, headers);
    if (answer.status >= 300) {
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 600)}`);
    }
    return answer.body;
  }

  get(path) {
    return this.ok("GET", path);
  }

  post(path, body) {
    return this.ok("POST", path, body);
  }
}

/** A running program. `stop` ends it and removes its folder; `restart` keeps both port and folder. */
export class Server {
  static async start({ policy = POLICY, set = [], config } = {}) {
    const folder = await mkdtemp(join(tmpdir(), "placet-web-"));
    const server = new Server();
    server.folder = folder;
    server.settings = ["limits.requests_per_second=0", "limits.pending_per_agent=10000", ...set];
    await writeFile(join(folder, "policy.toml"), policy);
    if (config) await writeFile(join(folder, "config.toml"), config);
    server.configured = config !== undefined;
    server.keys = new Map();
    await server.run(true);
    server.admin = new Api(server.url, BOOTSTRAP);
    return server;
  }

  /** Starts the program: on a port that the system chooses, and after that on the same one again. */
  async run(first) {
    const end = Date.now() + BOUND;
    while (!(await this.#listens(first))) {
      // Between two runs the port is free, and the system may lend it to a connection of another program for a moment.
      if (first || !/in use/.test(this.log) || Date.now() > end)
        throw new Error(`the program does not listen:\n${this.log}`);
      await sleep(100);
    }
  }

  /** Whether the program says where it listens; otherwise it has ended. */
  async #listens(first) {
    const address = first ? "127.0.0.1:0" : new URL(this.url).host;
    const args = ["serve", "--data", join(this.folder, "data"), "--listen", address];
    // What was put stays in force; the file is only for the first start.
    if (first) args.push("--policy", join(this.folder, "policy.toml"));
    if (this.configured) args.push("--config", join(this.folder, "config.toml"));
    for (const each of this.settings) args.push("--set", each);
    this.log = "";
    const child = spawn(program(), args, {
      env: {
        ...process.env,
        PLACET_BOOTSTRAP_TOKEN: BOOTSTRAP,
        PLACET_LOG: process.env.PLACET_LOG ?? "warn",
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child = child;
    this.gone = new Promise((done) => child.once("close", done));
    const said = new Promise((done) => {
      let output = "";
      child.stdout.on("data", (chunk) => {
        output = (output + chunk).slice(-20_000);
        const url = /^listening on (http:\S+)$/m.exec(output)?.[1];
        if (url) done(url);
      });
    });
    const take = (chunk) => {
      this.log = (this.log + chunk).slice(-20_000);
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    const url = await Promise.race([said, this.gone.then(() => null), sleep(BOUND, null, { ref: false })]);
    if (url === null) child.kill("SIGKILL");
    else this.url = url;
    return url !== null;
  }

  async end(signal = "SIGTERM") {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill(signal);
      const killer = setTimeout(() => this.child.kill("SIGKILL"), BOUND);
      await this.gone;
      clearTimeout(killer);
    }
  }

  /** Down for `pause` milliseconds, then up again on the same port with the same data. */
  async restart({ pause = 0, signal = "SIGTERM" } = {}) {
    await this.end(signal);
    await sleep(pause);
    await this.run(false);
  }

  async stop() {
    await this.end();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** A caller with a key of this role, made on first use. */
  async as(role, name) {
    const known = `${role}/${name}`;
    if (!this.keys.has(known)) {
      const { key } = await this.admin.post("/v1/keys", { role, name });
      this.keys.set(known, key);
    }
    return new Api(this.url, this.keys.get(known));
  }

  agent(name = "bot") {
    return this.as("agent", name);
  }

  reviewer(name = "rita") {
    return this.as("reviewer", name);
  }

  /** Adds a person who signs in by link. */
  async person(name, roles = ["reviewer"], teams = []) {
    await this.admin.ok("PUT", `/v1/people/${name}`, { roles, teams }).catch(async () => {
      await this.admin.post("/v1/people", { name, roles, teams });
    });
  }

  /** A one-time sign-in link, whole. */
  async link(name) {
    const { url } = await this.admin.post(`/v1/people/${name}/link`, {});
    return this.url + url;
  }
}
