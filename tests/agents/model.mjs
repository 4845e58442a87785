// A model that does what the test says: asks for tool calls one after another, sees what came of each, and ends.
//
// It speaks just enough of four APIs for the agents to believe it, remembers what it was told, and refuses everything
// else: a call that no test expects fails the test. It is also the only proxy the agents know, so that a program that
// tries to reach the outside world is seen here and gets nowhere.

import { createServer } from "node:http";
import { anthropic } from "./model/anthropic.mjs";
import { chat } from "./model/chat.mjs";
import { gemini } from "./model/gemini.mjs";
import { responses } from "./model/responses.mjs";

/**
 * What the model asks the agent to run; the input may depend on what came of earlier calls.
 * @typedef {{ id: string, tool: string, namespace?: string, input: object | ((told: Map<string, string>) => object) }} Call
 *
 * @typedef {{ model: string, stream: boolean, path: string }} Request
 * @typedef {{ event?: string, data: object | string }[] | object} Reply  a list of events, or one document
 *
 * One API.
 * @typedef {object} Dialect
 * @property {string} name
 * @property {(method: string, path: string) => boolean} serves
 * @property {(body: any) => { talk: object[], tools: string[], results: { id: string, text: string }[] }} read
 * @property {(request: Request, calls: Call[]) => Reply} call
 * @property {(request: Request, words: string) => Reply} say
 */

const DIALECTS = { messages: anthropic, responses, gemini, chat };

/** What the model says when it has nothing to ask for. */
const LAST_WORDS = "That is all.";

/**
 * @param {keyof typeof DIALECTS} name
 * @param {Record<string, Call[][]>} plan   what to ask for in a conversation that began with this prompt, turn by turn
 * @param {boolean} [insist]   asks for tools as well that the agent does not offer
 */
export async function startModel(name, plan, insist = false) {
  const dialect = DIALECTS[name];
  const seen = {
    /** Ids of the calls the model asked for; an id that is here twice was asked for twice. @type {string[]} */
    asked: [],
    /** What the agent said came of each call, by id. @type {Map<string, string>} */
    results: new Map(),
    /** Calls that nobody expects. @type {string[]} */
    refused: [],
    /** Attempts to get out. @type {string[]} */
    outside: [],
  };

  const server = createServer(async (incoming, outgoing) => {
    const chunks = [];
    for await (const chunk of incoming) {
      chunks.push(chunk);
    }
    if (/^https?:/.test(incoming.url)) {
      seen.outside.push(`${incoming.method} ${new URL(incoming.url).host}`);
      return end(outgoing, 403, { error: "there is no outside here" });
    }
    const path = incoming.url.split("?")[0];
    try {
      if (!dialect.serves(incoming.method, path)) {
        throw new Error("no such call");
      }
      const body = JSON.parse(Buffer.concat(chunks).toString());
      reply(outgoing, answer(dialect, plan, seen, { ...body, path }, insist));
    } catch (error) {
      seen.refused.push(`${incoming.method} ${incoming.url}: ${error.message}`);
      end(outgoing, 404, { error: { type: "not_found_error", message: "the stand-in does not know this" } });
    }
  });
  server.on("connect", (incoming, socket) => {
    seen.outside.push(`CONNECT ${incoming.url}`);
    socket.on("error", () => {});
    socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

  return {
    url: `http://127.0.0.1:${server.address().port}`,
    seen,
    stop() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

function answer(dialect, plan, seen, request, insist) {
  const { talk, tools, results } = dialect.read(request);
  const said = JSON.stringify(talk);
  // A prompt for a subagent occurs in the conversation that starts it as well: the first one counts.
  const prompt = Object.keys(plan).find((prompt) => said.includes(prompt));
  if (prompt === undefined || (tools.length === 0 && !insist)) {
    return dialect.say(request, LAST_WORDS); // a title for the session, a summary: nothing that could run
  }
  for (const { id, text } of results) {
    seen.results.set(id, text);
  }
  const open = (call) => !results.some((result) => result.id === call.id);
  const turn = plan[prompt].find((calls) => calls.some(open));
  if (!turn) {
    return dialect.say(request, LAST_WORDS);
  }
  const calls = turn.map((call) => {
    const offered = call.namespace ?? call.tool;
    if (!tools.includes(offered) && !insist) {
      throw new Error(`the agent offers no tool ${offered}, only ${tools.join(", ")}`);
    }
    seen.asked.push(call.id);
    return { ...call, input: typeof call.input === "function" ? call.input(seen.results) : call.input };
  });
  return dialect.call(request, calls);
}

function reply(outgoing, what) {
  if (!Array.isArray(what)) {
    return end(outgoing, 200, what);
  }
  outgoing.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for (const { event, data } of what) {
    outgoing.write(event ? `event: ${event}\n` : "");
    outgoing.write(`data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
  }
  outgoing.end();
}

function end(outgoing, status, body) {
  outgoing.writeHead(status, { "content-type": "application/json" });
  outgoing.end(JSON.stringify(body));
}
