/**
 * A gateway in memory, as a `fetch` function: for tests of agents, without a server.
 *
 * ```ts
 * const gateway = new Gateway({ decide: (record) => (record.tool === "read" ? approve() : deny("not in a test")) });
 * const placet = gateway.client();
 * ```
 */
import { Placet, type PlacetOptions } from "../client.js";
import { milliseconds } from "../duration.js";
import { NotJson } from "../errors.js";
import { checkOptions, type Names } from "../options.js";
import { readJson } from "../strict.js";
import type { CreateBody, Json, JsonObject, RequestRecord } from "../wire.js";
import { Refusal, RequestStates, type Word } from "./life.js";

export type { Word } from "./life.js";

export const approve = (): Word => ({ decision: "approve" });
export const deny = (reason?: string): Word => ({ decision: "deny", reason });
export const edit = (args: JsonObject): Word => ({ decision: "edit", arguments: args });
export const respond = (answer: Json): Word => ({ decision: "respond", answer });

export interface GatewayOptions {
  /** Decides each new request at once, as a policy would. Without a result the request waits. */
  decide?: (record: RequestRecord) => Word | undefined;
}

const AGENT = "plk_agent_";
const REVIEWER = "plk_reviewer_";

export class Gateway {
  /** While true, nothing answers: what a connection to a stopped server looks like. */
  down = false;
  readonly #life = new RequestStates();
  readonly #decide: (record: RequestRecord) => Word | undefined;
  readonly #events: { id: string; type: string; at: string; record: RequestRecord }[] = [];
  readonly #listeners = new Set<() => void>();

  constructor(options: GatewayOptions = {}) {
    checkOptions("new Gateway()", options, { decide: true } satisfies Names<GatewayOptions>);
    this.#decide = options.decide ?? (() => undefined);
    this.#life.changed = (type, record) => {
      this.#events.push({ id: `mem.${this.#events.length + 1}`, type, at: new Date().toISOString(), record });
      for (const listener of [...this.#listeners]) listener();
    };
  }

  /** A client of an agent. */
  client(options: PlacetOptions & { agent?: string } = {}): Placet {
    const { agent = "bot", ...rest } = options;
    return new Placet({ url: "http://placet.invalid", token: AGENT + agent, fetch: this.fetch, ...rest });
  }

  /** A client of a person who decides. */
  reviewer(name = "ann"): Placet {
    return new Placet({ url: "http://placet.invalid", token: REVIEWER + name, fetch: this.fetch });
  }

  /** Every request there is, oldest first. */
  get requests(): RequestRecord[] {
    return this.#life.records;
  }

  /** The first pending request for the tool, as soon as there is one. */
  async pending(tool?: string, within = 5_000): Promise<RequestRecord> {
    const until = performance.now() + within;
    for (;;) {
      const found = this.requests.find(
        (each) => each.state === "pending" && (tool === undefined || each.tool === tool),
      );
      if (found) return found;
      const left = until - performance.now();
      if (left <= 0) throw new Error(`nothing ${tool ?? ""} was pending within ${within} ms`);
      await this.#change(left);
    }
  }

  /** Decides as a person. */
  decide(id: string, word: Word, by = "ann"): Promise<RequestRecord> {
    return this.#life.decide(id, by, word);
  }

  /** Changes that only time or a reviewer makes. */
  end(id: string, state: "expired" | "lapsed" | "revoked" | "unknown"): RequestRecord {
    return this.#life.end(id, state);
  }

  /** What clients are given as their `fetch`. */
  readonly fetch = async (target: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const request = new Request(target, init);
    const { signal } = request;
    signal.throwIfAborted();
    if (this.down) throw new TypeError("fetch failed", { cause: new Error("the gateway is down") });
    try {
      return await this.#route(request, new URL(request.url));
    } catch (error) {
      if (error instanceof Refusal) return problem(error);
      if (error instanceof NotJson) return problem(new Refusal(422, error.code, error.message));
      throw error;
    }
  };

  async #route(request: Request, url: URL): Promise<Response> {
    const { agent, reviewer } = who(request);
    const [, , what, id, verb] = url.pathname.split("/");
    if (url.pathname === "/v1/stream") return this.#stream(request, agent);
    if (what !== "requests") throw new Refusal(404, "not_found", "the gateway for tests has no such path");
    if (request.method === "GET") {
      if (id === undefined) return json(this.#list(url, reviewer));
      return json(await this.#wait(decodeURIComponent(id), url, request.signal, agent));
    }
    const text = await request.text();
    const body = (text === "" ? {} : readJson(text)) as JsonObject;
    if (id === undefined) return this.#create(request, url, body, needed(agent));
    return json(await this.#command(decodeURIComponent(id), verb, body, agent, reviewer));
  }

  async #create(request: Request, url: URL, body: JsonObject, agent: string): Promise<Response> {
    const key = request.headers.get("idempotency-key") ?? crypto.randomUUID();
    const weak = request.headers.get("placet-weak-key") ?? undefined;
    const asked = body as unknown as CreateBody;
    const { record, fresh } = await this.#life.create(agent, asked, key, weak, this.#decide);
    let now = await this.#wait(record.id, url, request.signal, agent);
    let permit: string | undefined;
    if (url.searchParams.get("claim") === "true" && now.state === "approved" && now.claimable) {
      permit = this.#life.claim(record.id, agent, request.headers.get("placet-claimant") ?? key).permit;
      now = this.#life.record(record.id);
    }
    return json(permit === undefined ? now : { ...now, permit }, fresh ? 201 : 200);
  }

  async #command(
    id: string,
    verb: string | undefined,
    body: JsonObject,
    agent: string | undefined,
    reviewer: string | undefined,
  ): Promise<unknown> {
    const text = (name: string) => (typeof body[name] === "string" ? (body[name] as string) : undefined);
    switch (verb) {
      case "claim":
        return this.#life.claim(id, needed(agent), text("claimant") ?? crypto.randomUUID());
      case "outcome": {
        const { permit = "", status = "", result_digest, note } = body as { [name: string]: string };
        return this.#life.report(id, needed(agent), permit, status, result_digest, note);
      }
      case "cancel":
        return this.#life.cancel(id, needed(agent));
      case "decision":
        return this.#life.decide(id, needed(reviewer), body as unknown as Word, {
          digest: text("digest") ?? "",
          version: Number(body.version),
        });
      default:
        throw new Refusal(404, "not_found", "the gateway for tests has no such path");
    }
  }

  #list(url: URL, reviewer: string | undefined) {
    needed(reviewer);
    const asked = (name: string) => url.searchParams.get(name);
    const items = this.requests
      .filter((each) => asked("state") === null || each.state === asked("state"))
      .filter((each) => asked("tool") === null || each.tool === asked("tool"))
      .filter((each) => asked("session") === null || each.session === asked("session"))
      .reverse();
    return { items, next_cursor: null, event_id: `mem.${this.#events.length}` };
  }

  async #wait(id: string, url: URL, signal: AbortSignal, agent: string | undefined): Promise<RequestRecord> {
    const asked = url.searchParams.get("wait");
    const version = url.searchParams.get("version");
    const until = performance.now() + (asked === null ? 0 : milliseconds(asked, "wait"));
    for (;;) {
      const record = this.#life.record(id, agent);
      const news = version === null ? record.state !== "pending" : record.version !== Number(version);
      const left = until - performance.now();
      if (news || left <= 0) return record;
      signal.throwIfAborted();
      // A deadline changes a record without an event.
      await this.#change(Math.min(left, Math.max(1, Date.parse(record.expires_at) - Date.now())), signal);
    }
  }

  #change(within: number, signal?: AbortSignal): Promise<void> {
    return new Promise((done) => {
      const end = () => {
        clearTimeout(timer);
        this.#listeners.delete(end);
        signal?.removeEventListener("abort", end);
        done();
      };
      const timer = setTimeout(end, within);
      this.#listeners.add(end);
      signal?.addEventListener("abort", end, { once: true });
    });
  }

  #stream(request: Request, agent: string | undefined): Response {
    const after = request.headers.get("last-event-id");
    let next = after?.startsWith("mem.") ? Number(after.slice(4)) : this.#events.length;
    const utf8 = new TextEncoder();
    const { signal } = request;
    const body = new ReadableStream<Uint8Array>({
      start: async (controller) => {
        const write = (text: string) => controller.enqueue(utf8.encode(text));
        write(`retry: 1000\nid: mem.${next}\n\n`);
        while (!signal.aborted && !this.down) {
          // Records past their deadline change when they are read.
          void this.requests;
          for (const event of this.#events.slice(next)) {
            if (agent !== undefined && event.record.agent !== agent) continue;
            const current = { ...event, record: this.#life.record(event.record.id) };
            write(`id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(current)}\n\n`);
          }
          next = this.#events.length;
          await this.#change(50, signal);
        }
        if (signal.aborted) controller.error(signal.reason);
        else controller.close();
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }
}

function who(request: Request): { agent?: string; reviewer?: string } {
  const key = request.headers.get("authorization")?.replace(/^Bearer /, "") ?? "";
  if (key.startsWith(AGENT)) return { agent: key.slice(AGENT.length) };
  if (key.startsWith(REVIEWER)) return { reviewer: key.slice(REVIEWER.length) };
  throw new Refusal(401, "unauthorized", "the key is unknown");
}

function needed(name: string | undefined): string {
  if (name === undefined) throw new Refusal(403, "forbidden", "a key of this role cannot do this");
  return name;
}

function json(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), { status, headers: { "content-type": "application/json" } });
}

function problem({ status, code, detail, record }: Refusal): Response {
  const body = {
    type: `urn:placet:problem:${code}`,
    title: code,
    status,
    detail,
    code,
    ...(record ? { record } : {}),
  };
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/problem+json" },
  });
}
