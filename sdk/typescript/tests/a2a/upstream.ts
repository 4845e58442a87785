/**
 * An agent on the SDK's own server that pauses as kagent's extension hitl/v1 says, and is as strict as kagent is: an answer
 * that does not cover every id ends the task, and a message that is no answer replaces the question.
 *
 * The message names the calls: `[["delete_file", {"path": "/a"}], …]`. What runs is counted. `ask me` makes it ask in plain
 * words instead.
 */
import { randomUUID } from "node:crypto";
import type { Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { AgentCard, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from "a2a-new";
import {
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from "a2a-new/server";
import { agentCardHandler, jsonRpcHandler, UserBuilder } from "a2a-new/server/express";
import express from "express";

export const HITL = "https://kagent.dev/extensions/hitl/v1";
const GATED = new Set(["delete_file", "pay"]);

export type Call = [tool: string, args: Record<string, unknown>];
interface Waiting {
  id: string;
  call: Call;
}
interface Approval {
  id: string;
  approved: boolean;
  rejection_reason?: string;
}

export class Upstream implements AgentExecutor {
  /** What really happened. */
  readonly ran: Call[] = [];
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #asking = new Set<string>();
  #http: HttpServer | undefined;
  url = "";

  static async start(): Promise<Upstream> {
    const agent = new Upstream();
    const app = express();
    const http = app.listen(0, "127.0.0.1");
    await new Promise((done) => http.once("listening", done));
    agent.#http = http;
    agent.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const card = AgentCard.fromJSON({
      name: "ops",
      description: "operates the shop",
      version: "1",
      supportedInterfaces: ["1.0", "0.3"].map((protocolVersion) => {
        return { url: `${agent.url}/`, protocolBinding: "JSONRPC", protocolVersion };
      }),
      capabilities: { streaming: true, extensions: [{ uri: HITL }] },
      defaultInputModes: ["text/plain", "application/json"],
      defaultOutputModes: ["text/plain"],
    });
    const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), agent);
    const compat = { legacyCompat: { enabled: true } };
    app.use(
      "/.well-known/agent-card.json",
      agentCardHandler({ agentCardProvider: requestHandler, ...compat }),
    );
    app.use("/", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication, ...compat }));
    return agent;
  }

  async stop(): Promise<void> {
    this.#http?.closeAllConnections();
    await new Promise((done) => this.#http?.close(done));
  }

  async execute(asked: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const { taskId: id, contextId } = asked;
    const status = { state: asked.task ? "TASK_STATE_WORKING" : "TASK_STATE_SUBMITTED" };
    const known = asked.task ? (Task.toJSON(asked.task) as object) : { id, contextId, history: [] };
    // The SDK wants every turn to begin with the task.
    bus.publish({ kind: "task", data: Task.fromJSON({ ...known, status }) });
    const waiting = this.#waiting.get(id);
    const asks = this.#asking.delete(id);
    const words = asked.userMessage.parts
      .map(({ content }) => (content?.$case === "text" ? content.value : ""))
      .join("");
    if (asks) this.#end(asked, bus, `heard: ${words}`);
    else if (waiting) this.#resume(asked, bus, waiting, asked.userMessage.metadata?.[HITL]);
    else this.#begin(asked, bus, words);
    bus.finished();
  }

  async cancelTask(taskId: string, bus: ExecutionEventBus): Promise<void> {
    this.#waiting.delete(taskId);
    const status = { state: "TASK_STATE_CANCELED" };
    bus.publish({
      kind: "statusUpdate",
      data: TaskStatusUpdateEvent.fromJSON({ taskId, contextId: "", status }),
    });
  }

  #begin(asked: RequestContext, bus: ExecutionEventBus, words: string): void {
    if (words === "ask me") {
      this.#asking.add(asked.taskId);
      this.#say(asked, bus, "TASK_STATE_INPUT_REQUIRED", { text: "Which colour?" });
      return;
    }
    let calls: Call[] = [];
    try {
      calls = JSON.parse(words) as Call[];
    } catch {
      this.#end(asked, bus, `heard: ${words}`);
      return;
    }
    this.#say(asked, bus, "TASK_STATE_WORKING", { text: "at work" });
    const gated = calls.filter(([tool]) => GATED.has(tool));
    for (const call of calls) if (!GATED.has(call[0])) this.ran.push(call);
    const waiting = gated.map((call) => ({ id: randomUUID(), call }));
    this.#waiting.set(asked.taskId, waiting);
    const tools = waiting.map(({ id, call: [name, args] }) => ({ id, call_id: `call-${id}`, name, args }));
    // Who did not ask for the extension gets words that nobody can answer.
    const knows = asked.context.requestedExtensions?.includes(HITL);
    const metadata = knows
      ? { [HITL]: { type: "tool_approval_request", hint: "Approve?", tools } }
      : undefined;
    this.#say(asked, bus, "TASK_STATE_INPUT_REQUIRED", { text: "waiting for approval", metadata });
  }

  #resume(asked: RequestContext, bus: ExecutionEventBus, waiting: Waiting[], answer: unknown): void {
    const approvals = (answer as { approvals?: Approval[] } | undefined)?.approvals;
    if (!approvals) {
      this.#say(asked, bus, "TASK_STATE_INPUT_REQUIRED", { text: "that is no answer" });
      return;
    }
    this.#waiting.delete(asked.taskId);
    const given = new Map(approvals.map((one) => [one.id, one]));
    if (given.size !== waiting.length || waiting.some(({ id }) => !given.has(id))) {
      this.#say(asked, bus, "TASK_STATE_FAILED", { text: "the answer does not fit the question" });
      return;
    }
    const told = waiting.map(({ id, call }) => {
      const { approved, rejection_reason } = given.get(id) ?? { approved: false };
      if (!approved) return `${call[0]} rejected: ${rejection_reason ?? "no reason"}`;
      this.ran.push(call);
      return `${call[0]} done`;
    });
    this.#end(asked, bus, told.join("; "));
  }

  #end(asked: RequestContext, bus: ExecutionEventBus, text: string): void {
    const { taskId, contextId } = asked;
    const artifact = { artifactId: randomUUID(), parts: [{ text }] };
    bus.publish({
      kind: "artifactUpdate",
      data: TaskArtifactUpdateEvent.fromJSON({ taskId, contextId, artifact }),
    });
    this.#say(asked, bus, "TASK_STATE_COMPLETED");
  }

  #say(
    { taskId, contextId }: RequestContext,
    bus: ExecutionEventBus,
    state: string,
    said?: { text: string; metadata?: object },
  ): void {
    const message = said && {
      messageId: randomUUID(),
      role: "ROLE_AGENT",
      taskId,
      contextId,
      parts: [{ text: said.text }],
      ...(said.metadata ? { metadata: said.metadata, extensions: [HITL] } : {}),
    };
    const status = { state, message, timestamp: new Date().toISOString() };
    bus.publish({
      kind: "statusUpdate",
      data: TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status }),
    });
  }
}
