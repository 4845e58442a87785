/** A request that runs nothing, with which a person learns to decide. It needs no power that an admin does not have. */
import { call } from "@/api/client";
import { onLiveEvents } from "@/api/live";

/** The name of the agent, the session and the tool: nobody takes it for a real call. */
export const TESTER = "placet-test";

/** How long to rely on the stream alone, in milliseconds. */
const LOOK_AGAIN = 10_000;

interface Made {
  id: string;
  key: string | null;
}

interface Asked {
  id: string;
  state: string;
  claimable: boolean;
}

const ARGUMENTS = {
  note: "This is a test of Placet. Nothing runs.",
  files: ["first.txt", "second.txt"],
};

/**
 * Makes a key for the agent `placet-test`, asks once with it, and revokes it. The key never leaves this page. While the
 * request waits, the page plays the agent: it takes the permit and reports that nothing was run.
 */
export async function sendTestRequest(): Promise<{ id: string; waits: boolean; done: Promise<string> }> {
  await revokeOld();
  const made = await call<Made>("/v1/keys", { method: "POST", body: { name: TESTER, role: "agent" } });
  const revoke = () =>
    call<void>(`/v1/keys/${encodeURIComponent(made.id)}?keep_votes=true`, { method: "DELETE" });
  if (!made.key) throw new Error("the server gave no key");
  const key = made.key;
  try {
    const asked = await asAgent<Asked>(key, "POST", "/v1/requests", {
      kind: "action",
      session: TESTER,
      tool: TESTER,
      summary: "A test request of this dashboard. Approve it, deny it or edit it: nothing runs.",
      risk: "low",
      expires_in: "15m",
      arguments: ARGUMENTS,
      arguments_schema: {
        type: "object",
        additionalProperties: false,
        properties: { note: { type: "string" }, files: { type: "array", items: { type: "string" } } },
      },
    });
    const done = follow(key, asked).finally(revoke);
    return { id: asked.id, waits: asked.state === "pending", done };
  } catch (error) {
    await revoke().catch(() => undefined);
    throw error;
  }
}

/** Keys of a page that was closed before its test was decided. Nobody has them, but lists show them. */
async function revokeOld(): Promise<void> {
  const { items } = await call<{
    items: { id: string; name: string; role: string; revoked_at: string | null }[];
  }>("/v1/keys");
  for (const key of items.filter((key) => key.name === TESTER && key.role === "agent" && !key.revoked_at)) {
    await call(`/v1/keys/${encodeURIComponent(key.id)}?keep_votes=true`, { method: "DELETE" });
  }
}

/** Waits for the decision. After a yes, reports that nothing was run. Returns the state at the end. */
async function follow(key: string, asked: Asked): Promise<string> {
  let record = asked;
  while (record.state === "pending") {
    await news(asked.id);
    record = await asAgent<Asked>(key, "GET", `/v1/requests/${asked.id}`);
  }
  if (record.state !== "approved" || !record.claimable) return record.state;
  const { permit } = await asAgent<{ permit: string }>(key, "POST", `/v1/requests/${asked.id}/claim`, {
    claimant: crypto.randomUUID().replaceAll("-", ""),
  });
  const ended = await asAgent<Asked>(key, "POST", `/v1/requests/${asked.id}/outcome`, {
    permit,
    status: "succeeded",
    note: "a test of the dashboard: nothing was run",
  });
  return ended.state;
}

/** Waits for news of the request on the stream that the page has, or for a while if the stream missed it. */
function news(id: string): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    const timer = setTimeout(done, LOOK_AGAIN);
    const stop = onLiveEvents((events) => {
      if (events.some((event) => event.row.id === id && event.row.state !== "pending")) done();
    });
  });
}

/** A call as the agent: with its key, and without the session of this page. */
async function asAgent<T>(key: string, method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(path, {
    method,
    headers: {
      accept: "application/json",
      authorization: `Bearer ${key}`,
      ...(body === undefined
        ? {}
        : { "content-type": "application/json", "idempotency-key": crypto.randomUUID() }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    credentials: "omit",
    cache: "no-store",
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`);
  return (await response.json()) as T;
}
