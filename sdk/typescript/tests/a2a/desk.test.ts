/** The approval desk, asked by both generations of @a2a-js/sdk. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Reviewer, Server } from "../support/server.js";
import { all, following, type Peer, refusal, WAYS } from "./clients.js";

const ASKED = {
  type: "approval_request",
  action: "delete_files",
  args: { files: ["report.md"], limit: Number.MAX_SAFE_INTEGER },
};

let server: Server;
let ann: Reviewer;
beforeAll(async () => {
  server = await Server.start();
  ann = await server.reviewer("ann");
});
afterAll(() => server.stop());

describe.each(WAYS)("%s", (name, connect) => {
  let desk: Peer;
  let caller: string;
  beforeAll(async () => {
    caller = `caller-${name.replaceAll(/[^a-z0-9]+/gi, "-")}`;
    desk = await connect(`${server.url}/a2a/desk`, await server.key("agent", caller));
  });
  const mine = (record: { agent: string }) => record.agent === caller;

  test("an approved request streams to its end with its arguments unchanged", async () => {
    const [seen] = await Promise.all([all(desk.stream(ASKED)), ann.approve(mine)]);
    expect(seen.at(-1)?.state).toBe("completed");
    const told = seen.flatMap(({ data }) => data).find((data) => (data as { decision?: string }).decision);
    expect(told).toMatchObject({ decision: "approve", args: ASKED.args });
  });

  test("a no ends rejected, with the reason", async () => {
    const task = await desk.send(ASKED);
    expect(task.state).toBe("input-required");
    await ann.deny("keep it", mine);
    const ended = await desk.get(task.id ?? "");
    expect(ended.state).toBe("rejected");
    expect(ended.data).toContainEqual(expect.objectContaining({ decision: "reject", reason: "keep it" }));
  });

  test("a client that comes back gets the outcome", async () => {
    const task = await desk.send(ASKED);
    const listening = await following(desk.subscribe(task.id ?? ""));
    await ann.approve(mine);
    const seen = await listening.end;
    expect(seen[0]?.state).toBe("input-required");
    expect(seen.at(-1)?.state).toBe("completed");
  });

  test("the agent that asked cannot answer", async () => {
    const task = await desk.send(ASKED);
    const yes = { type: "approval_response", decision: "approve" };
    const still = await desk.send(yes, { task: task.id, context: task.context });
    expect(still.state).toBe("input-required");
    expect((await ann.pending(mine)).state).toBe("pending");
    expect((await desk.cancel(task.id ?? "")).state).toBe("canceled");
  });

  test("the task of somebody else is not there", async () => {
    const task = await desk.send(ASKED);
    const stranger = await connect(`${server.url}/a2a/desk`, await server.key("agent", "stranger"));
    expect(await refusal(stranger.get(task.id ?? ""))).toMatch(/TaskNotFound/);
    await desk.cancel(task.id ?? "");
  });
});
