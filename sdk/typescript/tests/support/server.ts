/** The real program on a free port with a folder of its own, and people who decide. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
  type DecisionWord,
  type Json,
  type JsonObject,
  Placet,
  type PlacetOptions,
  type RequestRecord,
  type StepDecision,
} from "../../src/index.js";

const BOOTSTRAP = "bootstrap-token-of-the-typescript-tests-0123456789";

/** Everything waits for one person, except tools that begin with `free.` (allowed) and `never.` (denied). */
export const POLICY = `version = 1
name = "typescript tests"

[defaults]
effect = "hold"
risk = "low"
expires_in = "5m"

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
`;

/** Where the program is: `PLACET_BIN`, or the debug build of this repository. */
function program(): string {
  const here = fileURLToPath(new URL("../../../../target/debug/placet", import.meta.url));
  const path = process.env.PLACET_BIN ? resolve(process.env.PLACET_BIN) : here;
  if (!existsSync(path)) {
    throw new Error(
      `no program at ${path}: build it with \`cargo build -p placet\`, or name one in PLACET_BIN`,
    );
  }
  return path;
}

/** Ends a wait that fails. Nothing depends on how long a wait takes. */
export const BOUND = 60_000;

/**
 * An address at which nothing listens until `close`.
 *
 * It is the near end of an open connection: the system gives this port to nobody else, and refuses who calls it.
 */
export async function nowhere(): Promise<{ url: string; close: () => void }> {
  const far = createServer();
  await new Promise<void>((done) => far.listen(0, "127.0.0.1", done));
  const near = connect((far.address() as AddressInfo).port, "127.0.0.1");
  await new Promise<void>((done) => near.once("connect", () => done()));
  const close = () => {
    near.destroy();
    far.close();
  };
  // It does not keep a test's process alive.
  near.unref();
  far.unref();
  return { url: `http://127.0.0.1:${near.localPort}`, close };
}

export class Server {
  /** Where it listens: the system chooses at the first start, and it stays the same. */
  url = "";
  /** The key of the agent `bot`. */
  agentKey = "";
  #keys = new Map<string, string>();
  #child: ChildProcess | undefined;
  #gone: Promise<unknown> = Promise.resolve();
  #log = "";
  get #config(): string {
    return join(this.folder, "placet.toml");
  }

  private constructor(
    readonly folder: string,
    private readonly settings: string[],
  ) {}

  static async start(options: { policy?: string; config?: string; set?: string[] } = {}): Promise<Server> {
    const folder = await mkdtemp(join(tmpdir(), "placet-ts-"));
    await writeFile(join(folder, "policy.toml"), options.policy ?? POLICY);
    const set = ["limits.requests_per_second=0", "limits.pending_per_agent=10000", ...(options.set ?? [])];
    const server = new Server(folder, set);
    if (options.config !== undefined) await writeFile(server.#config, options.config);
    await server.up(true);
    server.agentKey = await server.key("agent", "bot");
    return server;
  }

  /** Starts the program; the policy is a matter of the first start. */
  async up(first = false): Promise<void> {
    const until = performance.now() + BOUND;
    while (!(await this.#listens(first))) {
      // Between two runs the port is free, and the system may lend it to a connection of another program for a moment.
      if (first || !/in use/.test(this.#log) || performance.now() > until)
        throw new Error(`the program does not listen:\n${this.#log}`);
      await sleep(100);
    }
  }

  /** Whether the program says where it listens; otherwise it has ended. */
  async #listens(first: boolean): Promise<boolean> {
    const address = first ? "127.0.0.1:0" : new URL(this.url).host;
    const args = ["serve", "--data", join(this.folder, "data"), "--listen", address];
    if (first) args.push("--policy", join(this.folder, "policy.toml"));
    if (existsSync(this.#config)) args.push("--config", this.#config);
    for (const each of this.settings) args.push("--set", each);
    const env = { ...process.env, PLACET_BOOTSTRAP_TOKEN: BOOTSTRAP, PLACET_LOG: "warn" };
    const child = spawn(program(), args, { env, stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    this.#log = "";
    this.#gone = new Promise((done) => child.once("close", done));
    const said = new Promise<string>((done) => {
      let output = "";
      child.stdout.on("data", (chunk: Buffer) => {
        output = (output + chunk).slice(-20_000);
        const url = /^listening on (http:\S+)$/m.exec(output)?.[1];
        if (url) done(url);
      });
    });
    const take = (chunk: Buffer) => {
      this.#log = (this.#log + chunk).slice(-20_000);
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    const late = sleep(BOUND, undefined, { ref: false });
    const url = await Promise.race([said, this.#gone.then(() => undefined), late]);
    if (url === undefined) child.kill("SIGKILL");
    else this.url = url;
    return url !== undefined;
  }

  /** Ends the program and keeps its folder. */
  async down(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    const killer = setTimeout(() => child.kill("SIGKILL"), BOUND);
    await this.#gone;
    clearTimeout(killer);
  }

  async stop(): Promise<void> {
    await this.down();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** A key, made once per name. */
  async key(role: "agent" | "reviewer" | "admin" | "auditor", name: string): Promise<string> {
    const known = this.#keys.get(`${role} ${name}`);
    if (known) return known;
    const answer = await fetch(`${this.url}/v1/keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${BOOTSTRAP}`, "content-type": "application/json" },
      body: JSON.stringify({ role, name }),
    });
    const body = (await answer.json()) as { key: string };
    if (answer.status !== 201) throw new Error(`no key for ${name}: ${JSON.stringify(body)}`);
    this.#keys.set(`${role} ${name}`, body.key);
    return body.key;
  }

  /** Takes every key of a name away. */
  async revoke(name: string): Promise<void> {
    const headers = { authorization: `Bearer ${BOOTSTRAP}` };
    const list = (await (await fetch(`${this.url}/v1/keys`, { headers })).json()) as {
      items: { id: string; name: string }[];
    };
    for (const { id, name: of } of list.items) {
      if (of === name) await fetch(`${this.url}/v1/keys/${id}`, { method: "DELETE", headers });
    }
  }

  /** `ann` takes an approval back. */
  async revokeApproval(id: string): Promise<void> {
    const answer = await fetch(`${this.url}/v1/requests/${id}/revoke`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${await this.key("reviewer", "ann")}`,
        "content-type": "application/json",
      },
      body: "{}",
    });
    if (!answer.ok) throw new Error(`not taken back: ${answer.status} ${await answer.text()}`);
  }

  /** A client of the agent `bot`; quick to give up, so that tests of outages are short. */
  agent(options: PlacetOptions = {}): Placet {
    return new Placet({ url: this.url, token: this.agentKey, outageBudget: "10s", ...options });
  }

  async reviewer(name = "ann"): Promise<Reviewer> {
    return new Reviewer(new Placet({ url: this.url, token: await this.key("reviewer", name) }));
  }
}

/** What to find: a request's id, or what its record must have. */
export type Which = string | ((record: RequestRecord) => boolean);

/** Somebody who looks at what is pending and decides. */
export class Reviewer {
  constructor(readonly client: Placet) {}

  /** The first pending request that fits, as soon as there is one. */
  async pending(which: Which = () => true, within = BOUND): Promise<RequestRecord> {
    const fits = typeof which === "string" ? (record: RequestRecord) => record.id === which : which;
    const until = performance.now() + within;
    while (performance.now() < until) {
      // Page by page: others may have left many behind.
      let cursor: string | undefined;
      do {
        const { items, next_cursor } = await this.client.list({ state: "pending", limit: "100", cursor });
        const found = items.find(fits);
        if (found) return found;
        cursor = next_cursor ?? undefined;
      } while (cursor !== undefined);
      await sleep(20);
    }
    throw new Error(`nothing like that was pending within ${within} ms`);
  }

  async decide(
    decision: DecisionWord,
    which?: Which,
    more: { reason?: string; arguments?: JsonObject; answer?: Json; steps?: StepDecision[] } = {},
  ): Promise<RequestRecord> {
    const { id, digest, version } = await this.pending(which);
    return this.client.decide(id, decision, { digest, version, ...more });
  }

  approve(which?: Which): Promise<RequestRecord> {
    return this.decide("approve", which);
  }
  edit(args: JsonObject, which?: Which): Promise<RequestRecord> {
    return this.decide("edit", which, { arguments: args });
  }
  deny(reason: string, which?: Which): Promise<RequestRecord> {
    return this.decide("deny", which, { reason });
  }
  respond(answer: Json, which?: Which): Promise<RequestRecord> {
    return this.decide("respond", which, { answer });
  }
}

/** Something that happens in the world: how often it ran, and with what. */
export class Effects<A = JsonObject> {
  readonly ran: A[] = [];
  readonly run = (args: A): { ran: number } => {
    this.ran.push(args);
    return { ran: this.ran.length };
  };
  get count(): number {
    return this.ran.length;
  }
}
