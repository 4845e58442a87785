// Each kind and each decision, by keyboard alone, against the real program.
import assert from "node:assert/strict";
import { action, ask, confirmation, editable, low, plan, previews, questions } from "../lib/ask.mjs";
import { launch, signedIn } from "../lib/browser.mjs";
import { after, before, test } from "../lib/limited.mjs";
import {
  clean,
  detail,
  dialog,
  freeze,
  openByKeyboard,
  pass,
  readToEnd,
  sent,
  settle,
  tabTo,
  thaw,
  think,
  toasts,
  UNDO,
  until,
} from "../lib/screen.mjs";
import { BOUND, Server } from "../lib/server.mjs";

let server;
let browser;
let bot;
let rita;

before(async () => {
  server = await Server.start();
  await server.person("ann", ["reviewer", "admin"]);
  await server.person("bob");
  bot = await server.agent();
  rita = await server.reviewer();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const SUBMIT = "Control+Enter";

/** What to press for each, the key that decides at the end, and what must then be on record. */
const cases = [
  {
    name: "a low action is approved with one key",
    body: () => low(),
    last: "a",
    wanted: { state: "approved", decision: "approve" },
  },
  {
    name: "a medium action asks once",
    body: () => previews.email(),
    keys: async (page) => {
      await page.keyboard.press("a");
      await dialog(page).waitFor();
    },
    last: "Enter",
    wanted: { state: "approved", decision: "approve" },
  },
  {
    name: "a high action wants a word of its content",
    body: () => previews.shell(),
    keys: async (page) => {
      await page.keyboard.press("a");
      await dialog(page).waitFor();
      await page.keyboard.press("Enter");
      await page.keyboard.type("Bash");
      await page.keyboard.press("Enter");
      assert.equal(await dialog(page).count(), 1, "approved without a word of the content");
      await page.keyboard.press("Control+a");
      await page.keyboard.type("pull.log");
    },
    last: "Enter",
    wanted: { state: "approved", decision: "approve" },
    now: true,
  },
  {
    name: "a critical action wants the code of the detail view",
    body: () => action("critical.shutdown", { cluster: "production" }),
    keys: async (page) => {
      const code = await detail(page).locator("b").last().textContent();
      await page.keyboard.press("a");
      await dialog(page).waitFor();
      await page.keyboard.type(code.trim());
    },
    last: "Enter",
    wanted: { state: "approved", decision: "approve" },
    auth: "code",
    now: true,
  },
  {
    name: "an action is denied with a reason",
    body: () => low(),
    keys: async (page) => {
      await page.keyboard.press("d");
      await dialog(page).waitFor();
      await page.keyboard.type("not on a Sunday");
    },
    last: SUBMIT,
    wanted: { state: "denied", decision: "deny", reason: "not on a Sunday" },
  },
  {
    name: "an action is edited in its form",
    body: () => editable(),
    keys: async (page) => {
      await page.keyboard.press("e");
      await dialog(page).waitFor();
      const amount = dialog(page).getByLabel(/^amount/i);
      await tabTo(page, amount);
      await page.keyboard.press("Control+a");
      await page.keyboard.type("17.5");
      await dialog(page).getByText("This decides the request.").waitFor();
    },
    last: SUBMIT,
    wanted: {
      state: "approved",
      decision: "edit",
      arguments: { amount: 17.5, to: "ACME GmbH", urgent: false },
    },
  },
  {
    name: "a plan is approved whole",
    body: () => plan(),
    keys: readToEnd,
    last: "a",
    wanted: { state: "approved", decision: "approve" },
  },
  {
    name: "a plan is approved without a step",
    body: () => plan(),
    keys: async (page) => {
      await tabTo(page, detail(page).getByRole("button", { name: "Step 3: Leave out" }));
      await page.keyboard.press("Space");
      await settle(page);
      await readToEnd(page);
    },
    last: "a",
    wanted: { state: "approved", steps: ["backup approve", "switch approve", "verify deny"] },
  },
  {
    name: "a plan is denied",
    body: () => plan(),
    keys: async (page) => {
      await page.keyboard.press("d");
      await dialog(page).waitFor();
      await page.keyboard.type("too risky");
    },
    last: SUBMIT,
    wanted: { state: "denied", decision: "deny", reason: "too risky" },
  },
  {
    name: "a confirmation is confirmed under its own label",
    body: () => confirmation(),
    keys: async (page) => {
      await detail(page)
        .getByRole("button", { name: /Publish/ })
        .waitFor();
    },
    last: "a",
    wanted: { state: "approved", decision: "approve" },
  },
  {
    name: "a confirmation is declined",
    body: () => confirmation(),
    keys: async (page) => {
      await page.keyboard.press("d");
      await dialog(page).waitFor();
    },
    last: SUBMIT,
    wanted: { state: "denied", decision: "deny" },
  },
  {
    name: "a question is refused",
    body: () => questions.text(),
    keys: async (page) => {
      await page.keyboard.press("d");
      await dialog(page).waitFor();
      await page.keyboard.type("ask somebody else");
    },
    last: SUBMIT,
    wanted: { state: "denied", decision: "deny" },
  },
  {
    name: "a text is answered",
    body: () => questions.text(),
    keys: async (page) => page.keyboard.type("Falcon"),
    answer: true,
    last: SUBMIT,
    wanted: { state: "answered", decision: "respond", answer: "Falcon" },
  },
  {
    name: "a number is answered",
    body: () => questions.number(),
    keys: async (page) => page.keyboard.type("15"),
    answer: true,
    last: SUBMIT,
    wanted: { state: "answered", decision: "respond", answer: 15 },
  },
  {
    name: "a choice is answered",
    body: () => questions.choice(),
    keys: async (page) => {
      await page.keyboard.press("Space");
      await page.keyboard.press("ArrowDown");
    },
    answer: true,
    last: SUBMIT,
    wanted: { state: "answered", decision: "respond", answer: "Dublin" },
  },
  {
    name: "several choices are answered",
    body: () => questions.multi_choice(),
    keys: async (page) => {
      await page.keyboard.press("Space");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Space");
    },
    answer: true,
    last: SUBMIT,
    wanted: { state: "answered", decision: "respond", answer: ["support", "press"] },
  },
  {
    name: "a date is answered",
    body: () => questions.date(),
    keys: async (page) => page.keyboard.type("12242026"),
    answer: true,
    last: SUBMIT,
    wanted: { state: "answered", decision: "respond", answer: "2026-12-24" },
  },
  {
    name: "a file is answered",
    body: () => questions.file(),
    keys: async (page) => {
      // Choosing is the system's own window; the page only gets the file.
      const field = dialog(page).locator("input[type=file]");
      await tabTo(page, field);
      await field.setInputFiles({
        name: "notes.txt",
        mimeType: "text/plain",
        buffer: Buffer.from("all good\n"),
      });
      await dialog(page).getByText("notes.txt").first().waitFor();
    },
    answer: true,
    last: SUBMIT,
    wanted: {
      state: "answered",
      decision: "respond",
      answer: {
        name: "notes.txt",
        media_type: "text/plain",
        content_base64: Buffer.from("all good\n").toString("base64"),
      },
    },
  },
];

test("every kind takes every decision by keyboard", async (suite) => {
  const records = await Promise.all(cases.map((each) => ask(bot, each.body())));
  const { context, page, seen } = await signedIn(browser, server, "ann");
  const paths = sent(page);
  const failed = new Set();
  for (const [at, each] of cases.entries()) {
    const record = records[at];
    await suite.test(`${each.name}: keys`, async () => {
      try {
        await openByKeyboard(page, record);
        if (each.answer) {
          await page.keyboard.press("r");
          await dialog(page).waitFor();
        }
        await each.keys?.(page);
        if (!each.now) await freeze(page);
        await page.keyboard.press(each.last);
        await dialog(page).waitFor({ state: "detached" });
        if (each.now) return;
        // Nothing of low or medium risk is sent before its time to think again is over.
        await page.getByRole("button", { name: "Undo" }).first().waitFor();
        assert.ok(!paths.includes(`/v1/requests/${record.id}/decision`), "sent at once");
        assert.equal((await rita.get(`/v1/requests/${record.id}`)).state, "pending");
        await page.clock.resume();
      } catch (error) {
        failed.add(at);
        await page.clock.resume();
        // What waits to be sent asks before the page is left.
        await page.goto(`${server.url}/queue`).catch(() => {});
        throw error;
      }
    });
  }
  await pass(page, UNDO);
  for (const [at, each] of cases.entries()) {
    if (failed.has(at)) continue;
    await suite.test(`${each.name}: record`, async () => {
      const record = await until(rita, records[at].id, ({ state }) => state !== "pending");
      const { decision } = record;
      const found = {
        state: record.state,
        decision: decision.decision,
        reason: decision.reason,
        arguments: decision.arguments,
        answer: decision.answer,
        steps: decision.steps?.map((step) => `${step.id} ${step.decision}`),
      };
      for (const [name, value] of Object.entries(each.wanted)) assert.deepEqual(found[name], value, name);
      assert.deepEqual(decision.by, ["ann"]);
      assert.equal(record.votes.at(-1)?.auth, each.auth ?? "bound");
    });
  }
  clean(seen);
  await context.close();
});

test("steps of a plan are put in another order by dragging them, or with their buttons", async () => {
  const record = await ask(bot, plan());
  const { context, page, seen } = await signedIn(browser, server, "ann");
  await openByKeyboard(page, record);
  const step = (id) => detail(page).locator(`[data-step="${id}"]`);
  const order = () =>
    detail(page)
      .locator("[data-step]")
      .evaluateAll((all) => all.map((each) => each.dataset.step));
  const drag = async (id, to, below) => {
    const grip = await step(id).getByTitle("Drag to another place").boundingBox();
    const box = await step(to).boundingBox();
    const [x, y] = [grip.x + grip.width / 2, grip.y + grip.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x, y + 5);
    await page.mouse.move(x, below ? box.y + box.height - 2 : box.y + 2, { steps: 6 });
    await page.mouse.up();
  };
  assert.deepEqual(await order(), ["backup", "switch", "verify"]);
  await drag("verify", "backup", false);
  assert.deepEqual(await order(), ["verify", "backup", "switch"]);
  await drag("verify", "backup", true);
  assert.deepEqual(await order(), ["backup", "verify", "switch"]);
  await tabTo(page, detail(page).getByRole("button", { name: "Step 2: Move up" }));
  await page.keyboard.press("Enter");
  assert.deepEqual(await order(), ["verify", "backup", "switch"]);
  await settle(page);
  await readToEnd(page);
  await page.keyboard.press("a");
  await think(page);
  const done = await until(rita, record.id, ({ state }) => state === "approved");
  assert.deepEqual(
    done.decision.steps.map(({ id, decision }) => `${id} ${decision}`),
    ["verify approve", "backup approve", "switch approve"],
  );
  clean(seen);
  await context.close();
});

test("calls of one tool are grouped by the shape of their arguments", async () => {
  const session = "shapes";
  for (const args of [
    { to: "a", amount: 1 },
    { to: "b", amount: 2 },
    { to: ["c"], amount: 3 },
  ])
    await ask(bot, action("reports.share", args, { session }));
  const { context, page } = await signedIn(browser, server, "ann");
  await page.goto(`${server.url}/queue?session=${session}&group=same`);
  await page.locator("[role=option][data-id]").nth(2).waitFor();
  const heads = await page.locator("[role=option]:not([data-id])").allTextContents();
  assert.equal(heads.length, 2, heads.join("\n"));
  assert.deepEqual(heads.map((head) => /(\d) pending/.exec(head)?.[1]).sort(), ["1", "2"]);
  await context.close();
});

test("an undone decision is never sent", async () => {
  const record = await ask(bot, low());
  const next = await ask(bot, low());
  const { context, page } = await signedIn(browser, server, "ann");
  const paths = sent(page);
  await openByKeyboard(page, record);
  await freeze(page);
  await page.keyboard.press("a");
  await page.getByRole("button", { name: "Undo" }).first().waitFor();
  await page.keyboard.press("u");
  await page.getByRole("button", { name: "Undo" }).waitFor({ state: "detached" });
  await thaw(page, UNDO);
  // A later decision is sent: what the first would have sent would have come before it.
  await openByKeyboard(page, next);
  await page.keyboard.press("a");
  await think(page);
  await until(rita, next.id, ({ state }) => state === "approved");
  assert.deepEqual(paths, [`/v1/requests/${next.id}/decision`]);
  const after_ = await rita.get(`/v1/requests/${record.id}`);
  assert.equal(after_.state, "pending");
  assert.equal(after_.version, record.version);
  await context.close();
});

test("what was just replaced under the cursor is not decided", async () => {
  const { context, page } = await signedIn(browser, server, "ann");
  const paths = sent(page);
  const two = await ask(
    bot,
    action("two.transfer", { amount: 10 }, { allowed: ["approve", "edit", "deny"] }),
  );
  await openByKeyboard(page, two);
  await freeze(page);
  // Somebody else puts a replacement on the table; the very next key press must not count for it.
  await rita.post(`/v1/requests/${two.id}/decision`, {
    decision: "edit",
    digest: two.digest,
    version: two.version,
    arguments: { amount: 9_999 },
  });
  // The page needs a few of its own milliseconds to show it: far fewer than the moment in which keys do nothing.
  const replaced = detail(page).getByText("Proposed replacement");
  for (const end = Date.now() + BOUND; !(await replaced.isVisible()); await page.clock.runFor(10))
    assert.ok(Date.now() < end, "the replacement is not shown");
  await page.keyboard.press("a");
  // The key would be sent by now. Then the same key counts, so it was not ignored for another reason.
  await thaw(page, UNDO);
  await page.keyboard.press("a");
  await page.getByRole("button", { name: "Undo" }).first().waitFor();
  assert.deepEqual(paths, []);
  const found = await rita.get(`/v1/requests/${two.id}`);
  assert.equal(found.state, "pending");
  assert.deepEqual(
    found.votes.map(({ by }) => by),
    ["rita"],
  );
  await context.close();
});

test("two people fill the two seats, and each sees the other's vote", async () => {
  const record = await ask(bot, action("two.transfer", { amount: 25_000 }));
  const ann = await signedIn(browser, server, "ann");
  const bob = await signedIn(browser, server, "bob");
  await openByKeyboard(ann.page, record);
  await openByKeyboard(bob.page, record);
  await ann.page.keyboard.press("a");
  await think(ann.page);
  await until(rita, record.id, ({ votes }) => votes.length === 1);
  await detail(bob.page).getByText("ann").first().waitFor();
  await settle(bob.page);
  await bob.page.keyboard.press("a");
  await think(bob.page);
  const done = await until(rita, record.id, ({ state }) => state === "approved");
  assert.deepEqual([...done.decision.by].sort(), ["ann", "bob"]);
  clean(ann.seen);
  clean(bob.seen);
  await ann.context.close();
  await bob.context.close();
});

test("when another was faster, the row dims with their name and a late decision is refused in words", async () => {
  const first = await ask(bot, low());
  const second = await ask(bot, low());
  const ann = await signedIn(browser, server, "ann");
  const bob = await signedIn(browser, server, "bob");
  await openByKeyboard(ann.page, first);
  // Bob has pressed his key; Rita's decision lands while his can still be undone.
  await openByKeyboard(bob.page, first);
  await freeze(bob.page);
  await bob.page.keyboard.press("a");
  await bob.page.getByRole("button", { name: "Undo" }).first().waitFor();
  const record = await rita.get(`/v1/requests/${first.id}`);
  await rita.post(`/v1/requests/${first.id}/decision`, {
    decision: "deny",
    reason: "mine",
    digest: record.digest,
    version: record.version,
  });
  const dimmed = ann.page.locator(`[role="option"][data-id="${first.id}"][data-state="denied"]`);
  await dimmed.waitFor();
  assert.match(await dimmed.textContent(), /rita/);
  await thaw(bob.page, UNDO);
  await toasts(bob.page)
    .getByText(/not applied/)
    .waitFor();
  const final = await rita.get(`/v1/requests/${first.id}`);
  assert.equal(final.state, "denied");
  assert.deepEqual(final.decision.by, ["rita"]);
  // Ann's detail shows what happened, and her keys decide nothing there: only what she decides next is sent.
  const paths = sent(ann.page);
  await settle(ann.page);
  await ann.page.keyboard.press("a");
  await pass(ann.page, UNDO);
  await openByKeyboard(ann.page, second);
  await ann.page.keyboard.press("a");
  await think(ann.page);
  await until(rita, second.id, ({ state }) => state === "approved");
  assert.deepEqual(paths, [`/v1/requests/${second.id}/decision`]);
  assert.equal((await rita.get(`/v1/requests/${first.id}`)).version, final.version);
  await ann.context.close();
  await bob.context.close();
});

test("a batch shows every item and decides each", async () => {
  const records = [];
  for (let at = 0; at < 3; at += 1)
    records.push(await ask(bot, low({ report: `batch ${at}` }, { session: "batch" })));
  const { context, page, seen } = await signedIn(browser, server, "ann");
  await page.goto(`${server.url}/queue?session=batch`);
  await page.locator("[role=option]").nth(2).waitFor();
  await page.keyboard.press("x");
  await page.keyboard.press("J");
  await page.keyboard.press("J");
  await page.keyboard.press("a");
  await dialog(page).waitFor();
  for (let at = 0; at < 3; at += 1) await dialog(page).getByText(`batch ${at}`).first().waitFor();
  const yes = dialog(page).getByRole("button", { name: /^Approve 3/ });
  await yes.waitFor();
  await settle(page);
  await tabTo(page, yes);
  await page.keyboard.press("Enter");
  for (const { id } of records) await until(rita, id, ({ state }) => state === "approved");
  clean(seen);
  await context.close();
});
