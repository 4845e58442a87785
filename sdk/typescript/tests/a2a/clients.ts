/** Both generations of @a2a-js/sdk as clients, behind the same few calls. */
import { randomUUID } from "node:crypto";
import * as next from "a2a-new";
import * as nextClient from "a2a-new/client";
import type * as old from "a2a-old";
import * as oldClient from "a2a-old/client";

/** What a client was told: a task, or an event of its stream. */
export interface Seen {
  id?: string;
  context?: string;
  /** `completed`, `input-required`, …, whatever the version calls it. */
  state?: string;
  text: string;
  /** The data parts of its artifacts and of its status. */
  data: unknown[];
}

/** Text becomes a text part, everything else a data part. */
export type Said = string | object;
export interface Where {
  task?: string;
  context?: string;
}

export interface Peer {
  send(said: Said, where?: Where): Promise<Seen>;
  stream(said: Said, where?: Where, signal?: AbortSignal): AsyncGenerator<Seen>;
  get(id: string): Promise<Seen>;
  cancel(id: string): Promise<Seen>;
  subscribe(id: string): AsyncGenerator<Seen>;
}

interface Json {
  [name: string]: unknown;
}

/** JSON of either version: a task, or an event with or without its wrapper. */
function seen(raw: Json): Seen {
  const inner = (raw.task ?? raw.statusUpdate ?? raw.artifactUpdate ?? raw.message ?? raw) as Json;
  const status = (inner.status ?? {}) as { state?: string; message?: Json };
  const artifacts = [
    ...((inner.artifacts ?? []) as Json[]),
    ...(inner.artifact ? [inner.artifact as Json] : []),
  ];
  const parts = [...artifacts, ...(status.message ? [status.message] : [])].flatMap(
    (one) => one.parts as Json[],
  );
  return {
    id: (inner.taskId ?? (inner.status ? inner.id : undefined)) as string | undefined,
    context: inner.contextId as string | undefined,
    state: status.state?.replace("TASK_STATE_", "").toLowerCase().replaceAll("_", "-"),
    text: parts.map(({ text }) => text ?? "").join(" "),
    data: parts.filter(({ data }) => data !== undefined).map(({ data }) => data),
  };
}

/** `fetch` with a key. */
function keyed(key: string): typeof fetch {
  return (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("authorization", `Bearer ${key}`);
    return fetch(input, { ...init, headers });
  };
}

const card = (address: string) => `${address}/.well-known/agent-card.json`;

async function* each<T>(events: AsyncGenerator<T>, read: (event: T) => Seen): AsyncGenerator<Seen> {
  for await (const event of events) yield read(event);
}

/** @a2a-js/sdk 1.3.0, by the binding that is asked for. */
export async function newest(address: string, key: string, binding: "JSONRPC" | "HTTP+JSON"): Promise<Peer> {
  const fetchImpl = keyed(key);
  const factory = new nextClient.ClientFactory({
    transports: [
      new nextClient.JsonRpcTransportFactory({ fetchImpl }),
      new nextClient.RestTransportFactory({ fetchImpl }),
    ],
    preferredTransports: [binding],
    cardResolver: new nextClient.DefaultAgentCardResolver({ fetchImpl }),
  });
  const client = await factory.createFromUrl(card(address), "");
  const asking = (said: Said, where: Where = {}) => {
    const part = typeof said === "string" ? { text: said } : { data: said };
    return next.SendMessageRequest.fromJSON({
      message: {
        messageId: randomUUID(),
        role: "ROLE_USER",
        parts: [part],
        taskId: where.task,
        contextId: where.context,
      },
    });
  };
  const task = (told: next.Task) => seen(next.Task.toJSON(told) as Json);
  const event = (told: next.StreamResponse) => seen(next.StreamResponse.toJSON(told) as Json);
  const id = (id: string) => next.GetTaskRequest.fromJSON({ id });
  return {
    send: async (said, where) => task((await client.sendMessage(asking(said, where))) as next.Task),
    stream: (said, where, signal) => each(client.sendMessageStream(asking(said, where), { signal }), event),
    get: async (of) => task(await client.getTask(id(of))),
    cancel: async (of) => task(await client.cancelTask(next.CancelTaskRequest.fromJSON({ id: of }))),
    subscribe: (of) => each(client.resubscribeTask(next.SubscribeToTaskRequest.fromJSON({ id: of })), event),
  };
}

/** @a2a-js/sdk 0.3.14. */
export async function older(address: string, key: string): Promise<Peer> {
  const fetchImpl = keyed(key);
  const factory = new oldClient.ClientFactory({
    transports: [new oldClient.JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new oldClient.DefaultAgentCardResolver({ fetchImpl }),
  });
  const client = await factory.createFromUrl(card(address), "");
  const asking = (said: Said, where: Where = {}): old.MessageSendParams => {
    const part: old.Part =
      typeof said === "string" ? { kind: "text", text: said } : { kind: "data", data: said as Json };
    const ids = { taskId: where.task, contextId: where.context };
    return { message: { kind: "message", messageId: randomUUID(), role: "user", parts: [part], ...ids } };
  };
  const read = (told: unknown) => seen(told as Json);
  return {
    send: async (said, where) => read(await client.sendMessage(asking(said, where))),
    stream: (said, where, signal) => each(client.sendMessageStream(asking(said, where), { signal }), read),
    get: async (id) => read(await client.getTask({ id })),
    cancel: async (id) => read(await client.cancelTask({ id })),
    subscribe: (id) => each(client.resubscribeTask({ id }), read),
  };
}

/** Every way in which these SDKs speak to an agent. */
export const WAYS: [string, (address: string, key: string) => Promise<Peer>][] = [
  ["@a2a-js/sdk 1.3.0, JSON-RPC", (address, key) => newest(address, key, "JSONRPC")],
  ["@a2a-js/sdk 1.3.0, HTTP+JSON", (address, key) => newest(address, key, "HTTP+JSON")],
  ["@a2a-js/sdk 0.3.14", older],
];

/** The name of the error that a call ends in. */
export async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    return error instanceof Error ? `${error.constructor.name}: ${error.message}` : String(error);
  }
  return "not refused";
}

/** Reads a stream to its end. */
export async function all(events: AsyncGenerator<Seen>): Promise<Seen[]> {
  const list: Seen[] = [];
  for await (const event of events) list.push(event);
  return list;
}

/** Reads a stream to its end, once its first event is here: what ended before that could not be followed any more. */
export async function following(events: AsyncGenerator<Seen>): Promise<{ end: Promise<Seen[]> }> {
  const first = await events.next();
  if (first.done) throw new Error("the stream says nothing");
  const rest = all(events);
  return { end: rest.then((seen) => [first.value, ...seen]) };
}
