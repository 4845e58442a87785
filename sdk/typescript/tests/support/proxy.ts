/** What stands between an agent and its server in bad networks: it forwards, and misbehaves where it is told to. */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** What to do with one call: nothing (forward it), or one of these. */
export type Trick =
  | undefined
  /** Cut the connection: before the server hears of it, or after it has answered. */
  | "refuse"
  | "lose"
  /** Say nothing, ever: without the server, or with the server having done it. */
  | "hang"
  | "swallow"
  /** Cut the connection when the answer takes more than a second. */
  | "impatient"
  /** Send the headers and keep the body. */
  | "buffer"
  /** An answer of its own. */
  | { status: number; type?: string; body?: string; headers?: { [name: string]: string } }
  /** The server's answer, rewritten. */
  | ((body: string) => string);

/** Listens; on a port that was used before, as soon as it is free. */
async function listening(server: Server, port: number): Promise<void> {
  for (const until = performance.now() + 60_000; ; await sleep(50)) {
    const refused = await new Promise<Error | undefined>((done) => {
      server.once("error", done);
      server.listen(port, "127.0.0.1", () => {
        server.off("error", done);
        done(undefined);
      });
    });
    if (!refused) return;
    // Between two uses the system may lend the port to a connection of another program for a moment.
    if (port === 0 || performance.now() > until) throw refused;
  }
}

export class BadProxy {
  /** Decides about every call; `count` says how many of the same kind were there before. */
  rule: (call: string, count: number) => Trick = () => undefined;
  /** Calls seen, such as `GET /v1/stream`, with ids written as `*`. */
  readonly calls: string[] = [];
  /** Headers of every call, in the same order. */
  readonly headers: IncomingMessage["headers"][] = [];
  /** The most calls of a kind that were open at the same time. */
  readonly peak = new Map<string, number>();
  #open = new Map<ServerResponse, string>();
  /** What was passed on of each answer that is open. */
  #passed = new Map<ServerResponse, string>();

  private constructor(
    private readonly server: Server,
    private readonly target: string,
  ) {}

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  static async start(target: string, port = 0): Promise<BadProxy> {
    const server = createServer();
    const proxy = new BadProxy(server, target);
    server.on("request", (from, to) => proxy.#handle(from, to));
    await listening(server, port);
    return proxy;
  }

  /** Cuts every connection that is open now. */
  cut(): void {
    for (const each of this.#open.keys()) each.destroy();
  }

  async stop(): Promise<void> {
    this.cut();
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  count(call: string): number {
    return this.calls.filter((each) => each === call).length;
  }

  /** How many calls of a kind are open now. */
  open(call: string): number {
    return [...this.#open.values()].filter((each) => each === call).length;
  }

  /** What the answer to a call of this kind that is open has brought so far; nothing before its headers. */
  passed(call: string): string | undefined {
    for (const [to, text] of this.#passed) if (this.#open.get(to) === call) return text;
    return undefined;
  }

  #handle(from: IncomingMessage, to: ServerResponse): void {
    const path = (from.url ?? "").split("?")[0]?.replace(/req_[a-z0-9]+/, "*");
    const call = `${from.method} ${path}`;
    const trick = this.rule(call, this.count(call));
    this.calls.push(call);
    this.headers.push(from.headers);
    this.#open.set(to, call);
    this.peak.set(call, Math.max(this.open(call), this.peak.get(call) ?? 0));
    to.on("close", () => {
      this.#open.delete(to);
      this.#passed.delete(to);
    });
    if (trick === "refuse") return void to.destroy();
    if (trick === "hang") return;
    if (typeof trick === "object") {
      to.writeHead(trick.status, { "content-type": trick.type ?? "text/html", ...trick.headers });
      return void to.end(trick.body ?? "<html>not what you wanted</html>");
    }
    this.#forward(from, to, trick);
  }

  #forward(
    from: IncomingMessage,
    to: ServerResponse,
    trick: Exclude<Trick, object> | ((body: string) => string),
  ): void {
    // Without keep-alive: the server below may be restarted at any moment.
    const options = {
      method: from.method,
      headers: { ...from.headers, host: new URL(this.target).host },
      agent: false,
    } as const;
    const onward = request(this.target + from.url, options, (answer) => {
      if (trick === "swallow") return void answer.resume();
      if (trick === "lose") {
        answer.resume().on("end", () => to.destroy());
        return;
      }
      if (typeof trick === "function") {
        let body = "";
        answer.setEncoding("utf8").on("data", (chunk: string) => {
          body += chunk;
        });
        answer.on("end", () => {
          const { "content-length": _, ...headers } = answer.headers;
          to.writeHead(answer.statusCode ?? 500, headers).end(trick(body));
        });
        return;
      }
      to.writeHead(answer.statusCode ?? 500, answer.headers);
      to.flushHeaders();
      this.#passed.set(to, "");
      answer.on("data", (chunk: Buffer) => this.#passed.set(to, `${this.#passed.get(to) ?? ""}${chunk}`));
      // Its own listener above makes the answer flow, with or without a pipe.
      if (trick !== "buffer") answer.pipe(to);
      answer.on("error", () => to.destroy());
      answer.on("close", () => trick !== "buffer" && to.end());
    });
    if (trick === "impatient") setTimeout(() => to.destroy(), 1_100);
    onward.on("error", () => to.destroy());
    to.on("close", () => onward.destroy());
    from.pipe(onward);
  }
}
