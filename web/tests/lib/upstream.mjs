// An agent that speaks A2A 1.0 and pauses as kagent does, for the proxy to stand in front of. It counts what it runs.
import { createServer } from "node:http";

const HITL = "https://kagent.dev/extensions/hitl/v1";

export class Upstream {
  /** Every answer to a pause, as it came. */
  answers = [];
  /** What it ran, in order. */
  ran = [];
  #tasks = new Map();
  /** The pause that the next message begins: calls, or whole words as JSON text. */
  #next = [];
  #loses = false;
  #last = 0;

  static async start() {
    const upstream = new Upstream();
    upstream.server = createServer((request, response) => upstream.#serve(request, response));
    await new Promise((done) => upstream.server.listen(0, "127.0.0.1", done));
    upstream.url = `http://127.0.0.1:${upstream.server.address().port}/`;
    return upstream;
  }

  stop() {
    this.server.closeAllConnections();
    return new Promise((done) => this.server.close(done));
  }

  /** The next message makes it wait for these calls: `{id, name, args}`, by a sub-agent where one is named. */
  pauseNext(tools, subagent) {
    const words = subagent
      ? { type: "tool_approval_request", tools: [], nested: { subagent_name: subagent, tools } }
      : { type: "tool_approval_request", tools };
    this.pauseWith(JSON.stringify(words), tools);
  }

  /** The same with the words as text, for numbers that this language cannot write. */
  pauseWith(words, tools) {
    this.#next.push({ words, tools });
  }

  /** Forgets its tasks at the moment at which it is told an answer, as if it had just been restarted. */
  loseNext() {
    this.#loses = true;
  }

  #serve(request, response) {
    const say = (text) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(text);
    };
    if (request.method === "GET") return say(JSON.stringify(this.#card()));
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      const { id, method, params } = JSON.parse(body);
      const answer = this.#answer(method, params);
      say(
        `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${answer ?? '"error":{"code":-32001,"message":"no such task"}'}}`,
      );
    });
  }

  #card() {
    return {
      name: "ops",
      description: "pauses",
      version: "1",
      supportedInterfaces: [{ url: this.url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
      capabilities: { streaming: false, extensions: [{ uri: HITL }] },
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["text/plain"],
      skills: [],
    };
  }

  /** The result, or nothing where the task is not known. */
  #answer(method, params) {
    const message = params?.message;
    const named = message?.taskId ?? params?.id;
    if (this.#loses && message?.taskId) {
      this.#loses = false;
      this.#tasks.clear();
    }
    if (named && !this.#tasks.has(named)) return null;
    const task = named ? this.#tasks.get(named) : this.#begin(message.contextId);
    if (method === "SendMessage" && named) this.#resume(task, message);
    if (method === "CancelTask") task.state = "CANCELED";
    const whole = this.#whole(task);
    return `"result":${method === "SendMessage" ? `{"task":${whole}}` : whole}`;
  }

  #begin(context) {
    this.#last += 1;
    const number = this.#last;
    const pause = this.#next.shift();
    const task = {
      id: `task-${number}`,
      context: context ?? `conversation-${number}`,
      state: "INPUT_REQUIRED",
      pause,
    };
    this.#tasks.set(task.id, task);
    return task;
  }

  #resume(task, message) {
    const words = message.metadata?.[HITL];
    this.answers.push(words);
    const approved = new Set(words.approvals.filter((one) => one.approved).map((one) => one.id));
    this.ran.push(...task.pause.tools.filter((tool) => approved.has(tool.id)).map((tool) => tool.id));
    task.state = "COMPLETED";
  }

  #whole({ id, context, state, pause }) {
    const message =
      state === "INPUT_REQUIRED"
        ? `,"message":{"messageId":"pause-${id}","role":"ROLE_AGENT","parts":[{"text":"May I?"}],"metadata":{"${HITL}":${pause.words}},"extensions":["${HITL}"]}`
        : "";
    const status = `{"state":"TASK_STATE_${state}","timestamp":"2026-11-15T00:00:00Z"${message}}`;
    return `{"id":"${id}","contextId":"${context}","status":${status}}`;
  }
}
