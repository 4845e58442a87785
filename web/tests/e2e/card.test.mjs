// Every value that a yes would run can be read on the card: in the request, in a batch and before an edit. Random
// requests of all kinds. A card that loses one value is noticed.
import assert from "node:assert/strict";
import { action, ask, previews } from "../lib/ask.mjs";
import { LONG, launch, signedIn } from "../lib/browser.mjs";
import { missing, scroll, unfold, wanted } from "../lib/card.mjs";
import { after, before, test } from "../lib/limited.mjs";
import { bodies, leaves } from "../lib/random.mjs";
import { clean, detail, dialog, openByAddress, settle, shown, until } from "../lib/screen.mjs";
import { Server } from "../lib/server.mjs";

let server;
let browser;
let bot;
let rita;
/** What was asked, with the record as a reviewer reads it. */
let asked;

before(async () => {
  server = await Server.start();
  await server.person("ann");
  bot = await server.agent();
  rita = await server.reviewer();
  browser = await launch();
  asked = [];
  for (const body of bodies(17, LONG ? 12 : 3, "card")) {
    const { id } = await ask(bot, body);
    asked.push({ body, record: await rita.get(`/v1/requests/${id}`) });
  }
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Shows a request without leaving the page. */
async function go(page, id) {
  await page.evaluate((id) => {
    history.pushState(null, "", `/queue?session=card&r=${id}`);
    dispatchEvent(new PopStateEvent("popstate"));
  }, id);
  await shown(page, id);
}

const yes = (page) =>
  detail(page)
    .getByRole("button", { name: /^(Approve|x|Answer)/ })
    .first();

test("the places that are looked for are those of every value that was sent", () => {
  let count = 0;
  for (const { body, record } of asked) {
    const under = (place) => record.display.fields.filter(({ pointer }) => pointer.startsWith(place)).length;
    if (body.arguments) assert.equal(under("/arguments"), leaves(body.arguments), JSON.stringify(body));
    if (body.context) assert.equal(under("/context"), leaves(body.context), JSON.stringify(body));
    count += wanted(record).length;
  }
  assert.ok(count > asked.length * 4, `${count} values of ${asked.length} requests`);
});

test("every value can be read on the card of a request, and the loss of any is noticed", async (t) => {
  const { context, page, seen } = await signedIn(browser, server, "ann");
  await page.goto(`${server.url}/queue?session=card`);
  await page.locator("[role=option]").first().waitFor();
  const problems = [];
  let values = 0;
  for (const [at, { body, record }] of asked.entries()) {
    await go(page, record.id);
    await settle(page);
    await unfold(page, "article");
    await scroll(page, "article");
    const fields = wanted(record);
    values += fields.length;
    for (const gone of await missing(page, "article", fields))
      problems.push(`${body.tool ?? body.kind} ${JSON.stringify(body).slice(0, 600)}: ${gone}`);
    // Taking each out of the page is slow, so a part of the requests is enough.
    if (LONG || at % 4 === 0)
      for (const pointer of await missing(page, "article", fields, { drop: true }))
        problems.push(`nobody noticed that ${pointer} of ${record.id} was gone`);
  }
  t.diagnostic(`${values} values of ${asked.length} requests`);
  assert.deepEqual(problems.slice(0, 20), []);
  clean(seen);
  await context.close();
});

test("a card that came without one of its values is noticed, in a section and in the rest", async () => {
  const { context, page } = await signedIn(browser, server, "ann");
  const known = { amount: "12", currency: "EUR", to: "Mallory", reference: "12" };
  for (const [args, pointer, twin] of [
    [
      { ...known, dry_run: false },
      "/arguments/dry_run",
      (view) => ({ ...view, rest: view.rest.filter((field) => field.pointer !== "/arguments/dry_run") }),
    ],
    [
      known,
      "/arguments/to",
      (view) => ({
        ...view,
        sections: view.sections.map((section) => ({ ...section, to: "ACME GmbH" })),
      }),
    ],
  ]) {
    const { id } = await ask(bot, { ...previews.money(), arguments: args });
    const record = await rita.get(`/v1/requests/${id}`);
    const path = new RegExp(`/v1/requests/${id}$`);
    await page.route(path, async (route) => {
      const answer = await route.fetch();
      const sent = await answer.json();
      await route.fulfill({ response: answer, json: { ...sent, view: twin(sent.view) } });
    });
    await openByAddress(page, server, id);
    await settle(page);
    const gone = await missing(page, "article", wanted(record));
    assert.equal(gone.length, 1, gone.join("\n"));
    assert.ok(gone[0].startsWith(`${pointer}: `), gone[0]);
    await page.unroute(path);
  }
  await context.close();
});

test("a card that hides a value cannot be approved", async () => {
  const { context, page } = await signedIn(browser, server, "ann");
  const { id } = await ask(bot, previews.json());
  const path = new RegExp(`/v1/requests/${id}$`);
  await page.route(path, async (route) => {
    const answer = await route.fetch();
    const sent = await answer.json();
    await route.fulfill({ response: answer, json: { ...sent, view: { ...sent.view, hidden: 2 } } });
  });
  await openByAddress(page, server, id);
  await settle(page);
  await detail(page).getByText("2 values of this request are not shown here").first().waitFor();
  assert.equal(await yes(page).getAttribute("aria-disabled"), "true");
  await context.close();
});

test("every value can be read in a batch", async () => {
  const { context, page } = await signedIn(browser, server, "ann");
  await page.goto(`${server.url}/queue?session=card`);
  await page.locator("[role=option]").first().waitFor();
  await settle(page);
  // Risky ones are decided one by one, so the batch has those of low and medium risk.
  await page.keyboard.press("x");
  for (let turn = 1; turn < Math.min(asked.length, 90); turn += 1) await page.keyboard.press("J");
  await page.keyboard.press("a");
  await dialog(page).locator("section[data-id]").first().waitFor();
  await settle(page);
  await unfold(page, "dialog[open]");
  const problems = [];
  const ids = await dialog(page)
    .locator("section[data-id]")
    .evaluateAll((all) => all.map((each) => each.dataset.id));
  assert.ok(ids.length >= 8, `${ids.length} in the batch`);
  for (const id of ids) {
    const { record } = asked.find((each) => each.record.id === id);
    const gone = await missing(page, `dialog[open] section[data-id="${id}"]`, wanted(record));
    problems.push(...gone.map((each) => `${record.tool ?? record.kind} ${id}: ${each}`));
  }
  assert.deepEqual(problems.slice(0, 20), []);
  await context.close();
});

test("every value of an edit can be read before it is sent", async () => {
  const { context, page } = await signedIn(browser, server, "ann");
  const tools = new Set();
  const problems = [];
  for (const { body, record } of asked) {
    if (!body.arguments || tools.has(body.tool)) continue;
    tools.add(body.tool);
    await openByAddress(page, server, record.id);
    await settle(page);
    await detail(page).getByRole("button", { name: /^Edit/ }).click();
    await dialog(page)
      .getByRole("tab", { name: "Raw JSON" })
      .evaluate((tab) => tab.click());
    const edited = { ...body.arguments, added: { deep: ["true", true, "x\ny"] } };
    const answer = page.waitForResponse(
      (each) => each.url().includes("dry_run") && each.request().postData().includes('"deep"'),
    );
    await dialog(page).getByRole("textbox").first().fill(JSON.stringify(edited));
    await settle(page);
    const tried = await (await answer).json();
    await dialog(page).getByRole("region", { name: "What will happen" }).waitFor();
    await unfold(page, "dialog[open]");
    const fields = wanted(tried.record);
    const own = fields.filter(({ pointer }) => /^\/(proposal|decision)\/arguments/.test(pointer));
    assert.equal(own.length, leaves(edited), body.tool);
    for (const gone of await missing(page, "dialog[open]", fields)) problems.push(`${body.tool}: ${gone}`);
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
  }
  assert.ok(tools.size >= 6);
  assert.deepEqual(problems, []);
  await context.close();
});

test("a replacement is drawn whole, and what it replaces stands beside it", async () => {
  const record = await ask(bot, {
    ...previews.money(),
    arguments: { amount: "12", currency: "EUR", to: "x", dry_run: true },
    tool: "two.pay",
  });
  const read = await rita.get(`/v1/requests/${record.id}`);
  const now = { amount: "9999", currency: "EUR", to: "Mallory", repeat: { every: "x", times: 12 } };
  await rita.post(`/v1/requests/${record.id}/decision`, {
    decision: "edit",
    arguments: now,
    digest: read.digest,
    version: read.version,
  });
  const after_ = await rita.get(`/v1/requests/${record.id}`);
  const { context, page } = await signedIn(browser, server, "ann");
  await openByAddress(page, server, record.id);
  await settle(page);
  const fields = wanted(after_);
  assert.equal(fields.filter(({ pointer }) => pointer.startsWith("/proposal/arguments")).length, 5);
  assert.deepEqual(await missing(page, "article", fields), []);
  const before_ = detail(page).locator("section", { has: page.getByRole("heading", { name: "Asked for" }) });
  assert.match(await before_.first().textContent(), /dry_run/);
  await context.close();
});

test("a card that is no longer the server's is drawn again, and what was typed stays", async () => {
  const { context, page } = await signedIn(browser, server, "ann");
  const { id } = await ask(bot, previews.email());
  const path = new RegExp(`/v1/requests/${id}$`);
  await page.route(path, async (route) => {
    const answer = await route.fetch();
    const sent = await answer.json();
    const view = { ...sent.view, digest: `sha256:${"0".repeat(64)}` };
    await route.fulfill({ response: answer, json: { ...sent, view } });
  });
  await openByAddress(page, server, id);
  await settle(page);
  await page.unroute(path);
  await page.keyboard.press("a");
  await dialog(page).waitFor();
  await dialog(page).getByText("Note, and what to remember").click();
  await dialog(page).getByLabel("Note (optional)").fill("as agreed");
  await dialog(page).getByRole("button", { name: "Approve" }).click();
  // Medium risk is sent after the time to think again.
  await page.getByRole("button", { name: "Undo" }).first().waitFor();
  await page.clock.fastForward(5_000);
  await page.getByText("What was shown is not what would run now.").first().waitFor();
  assert.equal((await rita.get(`/v1/requests/${id}`)).state, "pending");
  await openByAddress(page, server, id);
  await settle(page);
  await detail(page).getByText("You started a decision (approve)").waitFor();
  await detail(page).getByRole("button", { name: "Continue" }).click();
  assert.equal(await dialog(page).getByLabel("Note (optional)").inputValue(), "as agreed");
  await dialog(page).getByRole("button", { name: "Approve" }).click();
  await page.getByRole("button", { name: "Undo" }).first().waitFor();
  await page.clock.fastForward(5_000);
  const done = await until(rita, id, ({ state }) => state === "approved");
  assert.equal(done.decision.reason, "as agreed");
  await context.close();
});

test("a decision of high risk that meets another card says so where it is made, and goes on with what was typed", async () => {
  const { context, page } = await signedIn(browser, server, "ann");
  const { id } = await ask(bot, previews.money());
  const path = new RegExp(`/v1/requests/${id}$`);
  await page.route(path, async (route) => {
    const answer = await route.fetch();
    const sent = await answer.json();
    const view = { ...sent.view, digest: `sha256:${"0".repeat(64)}` };
    await route.fulfill({ response: answer, json: { ...sent, view } });
  });
  await openByAddress(page, server, id);
  await settle(page);
  await page.unroute(path);
  await page.keyboard.press("a");
  await dialog(page).getByText("Note, and what to remember").click();
  await dialog(page).getByLabel("Note (optional)").fill("as agreed");
  await dialog(page)
    .getByLabel(/^Type the amount/)
    .fill("1250.00");
  await dialog(page).getByRole("button", { name: "Approve" }).click();
  await dialog(page).getByRole("alert").getByText("Read it again: what you typed is still here.").waitFor();
  assert.equal((await rita.get(`/v1/requests/${id}`)).state, "pending");
  await settle(page);
  await dialog(page).getByRole("button", { name: "Go on with what is shown now" }).click();
  assert.equal(await dialog(page).getByLabel("Note (optional)").inputValue(), "as agreed");
  await dialog(page).getByRole("button", { name: "Approve" }).click();
  const done = await until(rita, id, ({ state }) => state === "approved");
  assert.equal(done.decision.reason, "as agreed");
  await context.close();
});

test("the confirmation stands beside the content, and covers none of it", async () => {
  for (const options of [{}, { phone: true }]) {
    const { context, page } = await signedIn(browser, server, "ann", options);
    const { id } = await ask(bot, previews.money());
    await openByAddress(page, server, id);
    await settle(page);
    await detail(page)
      .getByRole("button", { name: /^Approve/ })
      .first()
      .click();
    await dialog(page).waitFor();
    const content = await detail(page).getByRole("region", { name: "Request" }).boundingBox();
    const form = await dialog(page).boundingBox();
    assert.ok(content.y + content.height <= form.y + 1, JSON.stringify({ content, form }));
    assert.ok(content.height > 200, `${content.height} px are left for the content`);
    await context.close();
  }
});

test("on a touch screen the word is chosen among three, and a wrong one approves nothing", async () => {
  const { context, page } = await signedIn(browser, server, "ann", { phone: true });
  const { id } = await ask(bot, previews.money());
  await openByAddress(page, server, id);
  await settle(page);
  await detail(page)
    .getByRole("button", { name: /^Approve/ })
    .first()
    .click();
  const choice = dialog(page).getByRole("group", { name: /Choose the amount/ });
  const words = await choice.getByRole("button").allTextContents();
  assert.equal(new Set(words).size, 3);
  assert.ok(words.includes("1250.00"), words.join(", "));
  const approve = dialog(page).getByRole("button", { name: "Approve", exact: true });
  assert.ok(await approve.isDisabled());
  await choice.getByRole("button", { name: words.find((word) => word !== "1250.00"), exact: true }).click();
  await dialog(page).getByText("That is not what stands above.").waitFor();
  assert.ok(await approve.isDisabled());
  await choice.getByRole("button", { name: "1250.00", exact: true }).click();
  await approve.click();
  await until(rita, id, ({ state }) => state === "approved");
  await context.close();
});

test("a word of the content is typed where nothing better is known, and never the name of the tool", async () => {
  const { context, page } = await signedIn(browser, server, "ann");
  for (const [body, word] of [
    [action("high.reset", { reset: "high.reset", zone: "eu-west" }), "eu-west"],
    [action("high.reset"), "approve"],
    [previews.sql(), "orders"],
  ]) {
    const { id } = await ask(bot, body);
    await openByAddress(page, server, id);
    await settle(page);
    await page.keyboard.press("a");
    await dialog(page)
      .getByLabel(new RegExp(`^Type .*${word}`))
      .waitFor();
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
  }
  await context.close();
});
