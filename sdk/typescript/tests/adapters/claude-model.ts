/** The Messages API, by a model that asks for what the script says. It is also the only way out that the agent has. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { anthropic } from "../../../../tests/agents/model/anthropic.mjs";
import type { ModelCall, Told } from "./stage.js";

type Turns = { id: string; tool: string; input: object }[][];

/** What to ask for in a conversation that began with this prompt. */
export interface Script {
  [prompt: string]: ModelCall[][];
}

export async function startModel(script: Script, told: Told) {
  /** What the agent tried that nobody expects. */
  const strange: string[] = [];
  const server = createServer(async (request, response) => {
    try {
      if (request.method !== "POST" || !request.url?.startsWith("/v1/messages"))
        throw new Error("no such call");
      send(response, answer(JSON.parse(await body(request)), script, told));
    } catch (error) {
      strange.push(`${request.method} ${request.url}: ${String(error)}`);
      response.writeHead(404, { "content-type": "application/json" }).end("{}");
    }
  });
  server.on("connect", (request, socket) => {
    strange.push(`CONNECT ${request.url}`);
    socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    strange,
    stop: () => {
      server.closeAllConnections();
      return new Promise((done) => server.close(done));
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: the wire of another product
function answer(request: any, script: Script, told: Told): unknown {
  const { talk, tools, results } = anthropic.read(request);
  const said = JSON.stringify(talk);
  const prompt = Object.keys(script).find((each) => said.includes(each));
  if (prompt === undefined || tools.length === 0) return anthropic.say(request, "That is all.");
  // Hooks may add to a result in places of their own, so all that was said after the call counts as told.
  for (const { id, text } of results) told.set(id, `${text}\n${said.slice(said.lastIndexOf(`"${id}"`))}`);
  const asked = (script[prompt] as ModelCall[][]).map((calls) =>
    calls.map(({ id, tool, args }) => ({ id, tool, input: args })),
  ) satisfies Turns;
  const open = asked.find((calls) => calls.some(({ id }) => !results.some((result) => result.id === id)));
  return open ? anthropic.call(request, open) : anthropic.say(request, "done");
}

async function body(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function send(response: ServerResponse, what: unknown): void {
  if (!Array.isArray(what)) {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(what));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const { event, data } of what) response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  response.end();
}
