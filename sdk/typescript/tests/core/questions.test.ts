import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Placet, RequestRecord, Step } from "../../src/index.js";
import { Gateway } from "../../src/testing/index.js";
import { Reviewer, Server } from "../support/server.js";

describe.each(["the real server", "the gateway for tests"])("with %s", (which) => {
  let server: Server | undefined;
  let ann: Reviewer;
  let bot: Placet;
  beforeAll(async () => {
    if (which === "the real server") {
      server = await Server.start();
      ann = await server.reviewer();
      bot = server.agent();
    } else {
      const gateway = new Gateway();
      ann = new Reviewer(gateway.reviewer());
      bot = gateway.client();
    }
  });
  afterAll(() => server?.stop());
  const kind = (word: string) => (record: RequestRecord) => record.kind === word;

  test("a confirmation is a yes or a no", async () => {
    const asking = bot.confirm("Publish version 2.0 now?", {
      session: "q",
      details: "At once.",
      confirmLabel: "Publish",
    });
    const record = await ann.pending(kind("confirmation"));
    expect(record).toMatchObject({
      message: "Publish version 2.0 now?",
      confirm_label: "Publish",
      details: "At once.",
    });
    await ann.approve(record.id);
    const held = await asking;
    expect(held).toMatchObject({ go: true, by: ["ann"] });
    await held.succeeded();
    const again = bot.confirm("And now?", { session: "q" });
    await ann.deny("later", kind("confirmation"));
    expect(await again).toMatchObject({ go: false, status: "denied", reason: "later" });
  });

  test("a question has an answer", async () => {
    const asking = bot.ask("Which region?", {
      session: "q",
      type: "choice",
      options: ["eu", "us"],
      default: "eu",
    });
    await ann.respond("us", kind("input"));
    expect(await asking).toMatchObject({ go: false, status: "answered", answer: "us" });
    const refused = bot.ask("Your name?", { session: "q" });
    await ann.deny("not telling", kind("input"));
    expect((await refused).result()).toMatchObject({
      status: "denied",
      tool: "input",
      reason: "not telling",
    });
  });

  test("a plan has the steps that were approved, in the order approved", async () => {
    const steps: Step[] = [
      { id: "a", action: "backup", description: "first", arguments: { to: "s3" } },
      { id: "b", action: "switch", description: "second" },
      { id: "c", action: "verify", description: "third" },
    ];
    const whole = bot.propose("Move the shop", steps, { session: "q" });
    await ann.approve(kind("plan"));
    expect((await whole).steps.map((each) => each.id)).toEqual(["a", "b", "c"]);
    const parts = bot.propose("Move the shop", steps, { session: "q", canModify: true });
    await ann.decide("approve", kind("plan"), {
      steps: [
        { id: "c", decision: "approve" },
        { id: "a", decision: "edit", arguments: { to: "disk" } },
        { id: "b", decision: "deny" },
      ],
    });
    const held = await parts;
    expect(held.go).toBe(true);
    expect(held.steps).toMatchObject([{ id: "c" }, { id: "a", arguments: { to: "disk" } }]);
    const none = bot.propose("Move the shop", steps, { session: "q" });
    await ann.deny("no", kind("plan"));
    expect((await none).steps).toEqual([]);
  });

  test("a question that nobody answers in time is withdrawn", async () => {
    const held = await bot.ask("Anybody?", { session: "q", holdFor: 100 });
    expect(held).toMatchObject({ go: false, status: "cancelled" });
    expect((await bot.get(held.requestId as string)).state).toBe("cancelled");
  });
});
