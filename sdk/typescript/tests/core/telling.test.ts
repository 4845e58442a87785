import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Gate } from "../../src/adapters/common.js";
import { Coverage } from "../../src/coverage/report.js";
import { Server } from "../support/server.js";

const POLICY = `version = 1
[[rule]]
name = "looking"
effect = "allow"
tool = "look"
[[rule]]
name = "out-of-sight"
effect = "deny"
coverage = ["partial", "unknown"]
`;

let server: Server;
beforeAll(async () => {
  server = await Server.start({ policy: POLICY });
});
afterAll(() => server.stop());

const seen = (...hidden: string[]) =>
  new Coverage({
    framework: "ai",
    agent: "desk",
    gated: [{ name: "look", agent: "desk" }],
    ungated: hidden.map((name) => ({
      name,
      agent: "desk",
      kind: "hosted",
      why: "it runs elsewhere",
      chosen: false,
    })),
  });

async function known(name: string) {
  const token = await server.key("auditor", `auditor-of-${name}`);
  const answer = await fetch(`${server.url}/v1/agents`, { headers: { authorization: `Bearer ${token}` } });
  const { items } = (await answer.json()) as {
    items: { name: string; covered: string; coverage: unknown[] }[];
  };
  return items.find((agent) => agent.name === name);
}

async function stage(name: string) {
  const client = await server.agent({ token: await server.key("agent", name) });
  const warned = vi.spyOn(console, "warn");
  const gate = new Gate("ai", { client, session: name, uncovered: "allow" });
  const look = async () => (await gate.rule({ tool: "look", arguments: {}, callId: crypto.randomUUID() })).go;
  return { gate, look, warned };
}

describe("what of an agent is seen", () => {
  test("is known to the server before policy is asked about the first call", async () => {
    const { gate, look, warned } = await stage("first");
    expect(await look()).toBe(false);
    gate.covers(seen(), "");
    expect(await look()).toBe(true);
    gate.covers(seen("search"), "");
    expect(await look()).toBe(false);
    expect(warned).not.toHaveBeenCalled();
    const agent = await known("first");
    expect(agent?.covered).toBe("partial");
    expect(agent?.coverage).toHaveLength(1);
  });

  test("adds up where tools are gated one by one", async () => {
    const { gate, look } = await stage("second");
    gate.covers(seen("a"), "");
    gate.covers(seen("b\n\u202e"), "");
    await look();
    const agent = await known("second");
    const report = agent?.coverage[0] as { parts: { name: string }[] } | undefined;
    expect(report?.parts.map(({ name }) => name)).toEqual(["a", "b", "look"]);
  });

  test("fits into a report, however much and however odd it is", async () => {
    const { gate, look, warned } = await stage("third");
    gate.covers(seen("", "ü".repeat(300), ...Array.from({ length: 300 }, (_, n) => `tool ${n}`)), "");
    await look();
    expect(warned).not.toHaveBeenCalled();
    expect((await known("third"))?.covered).toBe("partial");
  });
});
