import { expect, test } from "vitest";
import { Placet } from "../../src/index.js";
import { approve, deny, edit, Gateway, respond } from "../../src/testing/index.js";

const call = { tool: "t", arguments: { n: 1 }, session: "s" };

test("a test says what becomes of each request", async () => {
  const words = { a: approve(), d: deny("no"), e: edit({ n: 2 }), r: respond("later") };
  const gateway = new Gateway({ decide: ({ tool }) => words[tool as keyof typeof words] });
  const placet = gateway.client();
  const allowed = ["approve", "edit", "deny", "respond"] as const;
  const of = (tool: string) => placet.hold({ ...call, tool, allowed });
  expect(await of("a")).toMatchObject({ go: true, edited: false, arguments: { n: 1 } });
  expect(await of("d")).toMatchObject({ go: false, status: "denied", reason: "no" });
  expect(await of("e")).toMatchObject({ go: true, edited: true, arguments: { n: 2 } });
  expect(await of("r")).toMatchObject({ go: false, status: "answered", answer: "later" });
});

test("a test decides when it likes", async () => {
  const gateway = new Gateway();
  const holding = gateway.client().hold(call);
  const { id } = await gateway.pending("t");
  await gateway.decide(id, approve(), "bob");
  expect(await holding).toMatchObject({ go: true, by: ["bob"] });
  await expect(gateway.decide(id, deny())).rejects.toThrow("claimed");
});

test.each(["expired", "lapsed", "revoked"] as const)("a request that is %s does not run", async (state) => {
  const gateway = new Gateway();
  const holding = gateway.client().hold(call);
  gateway.end((await gateway.pending()).id, state);
  expect(await holding).toMatchObject({ go: false, status: state });
});

test("an outage is one switch", async () => {
  const gateway = new Gateway({ decide: approve });
  const placet = gateway.client({ outageBudget: 100 });
  gateway.down = true;
  expect((await placet.hold(call)).status).toBe("unreachable");
  gateway.down = false;
  expect((await placet.hold(call)).go).toBe(true);
});

test("a lost answer to a create that claimed is found again by its claimant", async () => {
  const gateway = new Gateway({ decide: approve });
  let lost = 0;
  const placet = gateway.client({
    fetch: async (target, init) => {
      const answer = await gateway.fetch(target as string, init);
      if (lost === 0 && init?.method === "POST") {
        lost += 1;
        throw new TypeError("fetch failed");
      }
      return answer;
    },
  });
  expect((await placet.hold(call)).go).toBe(true);
  expect(gateway.requests).toHaveLength(1);
});

test("keys matter here too", async () => {
  const gateway = new Gateway();
  const stranger = new Placet({ url: "http://placet.invalid", token: "nobody", fetch: gateway.fetch });
  await expect(stranger.hold(call)).rejects.toThrow("does not accept the key");
  await expect(gateway.client().list()).rejects.toMatchObject({ code: "forbidden" });
  await expect(gateway.reviewer().create({ kind: "action", ...call })).rejects.toMatchObject({
    code: "forbidden",
  });
});
