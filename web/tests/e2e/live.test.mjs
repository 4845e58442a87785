// The live connection: what it shows, and what happens when it breaks or the session ends.
import assert from "node:assert/strict";
import { ask, askMany, editable, low, previews, questions } from "../lib/ask.mjs";
import { LONG, launch, signedIn, signIn, who } from "../lib/browser.mjs";
import { after, before, test } from "../lib/limited.mjs";
import {
  detail,
  dialog,
  freeze,
  openByKeyboard,
  pass,
  row,
  sent,
  think,
  UNDO,
  until,
} from "../lib/screen.mjs";
import { Server } from "../lib/server.mjs";

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

/** The longest time between two attempts to connect again. */
const LONGEST_PAUSE = 18_000;

test("an event is on screen without a reload", async () => {
  const { context, page } = await signedIn(browser, server, "ann");
  await page.goto(`${server.url}/queue`);
  await page.getByText("Nothing is waiting").waitFor();
  await page.evaluate(() => {
    window.loadedOnce = true;
  });
  for (let turn = 0; turn < 5; turn += 1) {
    const record = await ask(bot, low({ turn }));
    await row(page, record.id).waitFor();
  }
  assert.ok(await page.evaluate(() => window.loadedOnce), "the page was loaded again");
  await context.close();
});

/** Waits until the page says that so many are pending. */
const counted = (page, count) =>
  page.waitForFunction(
    (text) => document.querySelector("[role=status]")?.textContent?.includes(text),
    String(count),
  );

test(`a burst on top of a queue of ${LONG ? "10,000" : "600"} is shown whole, and keys move through the list while it comes`, async () => {
  const before_ = (await rita.get("/v1/requests?state=pending&limit=500")).items.length;
  const many = LONG ? 10_000 : 600;
  const burst = LONG ? 1_000 : 400;
  const agents = await Promise.all(Array.from({ length: 4 }, (_, at) => server.agent(`crowd-${at}`)));
  const crowd = (count, words) =>
    Promise.all(
      agents.map((agent, at) =>
        askMany(agent, count / agents.length, (turn) => low({ [words]: at, turn }), 16),
      ),
    );
  await crowd(many, "crowd");
  const { context, page, seen } = await signedIn(browser, server, "ann");
  await page.goto(`${server.url}/queue`);
  // More than one page of the list is read.
  await counted(page, before_ + many);
  let coming = true;
  const come = crowd(burst, "burst").finally(() => {
    coming = false;
  });
  const current = () =>
    document.querySelector("[aria-activedescendant]")?.getAttribute("aria-activedescendant");
  let moves = 0;
  // Not as far as the end of the list, where there is nothing to move to.
  while (moves === 0 || (coming && moves < many / 2)) {
    const before = await page.evaluate(current);
    await page.keyboard.press("j");
    await page.waitForFunction(
      (id) => document.querySelector("[aria-activedescendant]")?.getAttribute("aria-activedescendant") !== id,
      before,
    );
    moves += 1;
  }
  await come;
  await counted(page, before_ + many + burst);
  assert.ok((await page.locator("[role=option]").count()) < 120, "the list is not virtual");
  assert.deepEqual(seen.errors, []);
  await context.close();
});

test("a restart of the server is survived: told, reconnected, nothing missed", async () => {
  const { context, page } = await signedIn(browser, server, "ann");
  const paths = sent(page);
  await page.goto(`${server.url}/queue?session=restart`);
  await page.getByText("No pending request matches").waitFor();
  const first = await ask(bot, low({}, { session: "restart" }));
  await row(page, first.id).waitFor();
  await server.end("SIGKILL");
  await page.getByText("Connection lost").waitFor();
  // No decision is taken while nobody listens, nor kept for later.
  await page.keyboard.press("a");
  await pass(page, UNDO);
  await server.run(false);
  const second = await ask(bot, low({}, { session: "restart" }));
  await pass(page, LONGEST_PAUSE);
  await row(page, second.id).waitFor();
  await page.getByText("Connection lost").waitFor({ state: "detached" });
  // And it is live again.
  const third = await ask(bot, low({}, { session: "restart" }));
  await row(page, third.id).waitFor();
  assert.deepEqual(paths, []);
  assert.equal((await rita.get(`/v1/requests/${first.id}`)).state, "pending");
  await context.close();
});

/** Ends all sessions of a person, as an admin. */
async function endSessions(page) {
  const { session } = (await who(page)).body;
  await server.admin.ok("DELETE", `/v1/sessions/${session.id}`);
}

const KEPT = /what you typed is kept/;
const signedOut = (page) => page.getByRole("heading", { name: "Sign in" }).waitFor();

/** What waited in the page would have been sent by now: the page has had an answer to a later call. */
async function fence(page) {
  await pass(page, UNDO);
  await page.evaluate(async () => (await fetch("/v1/session")).status);
}

test("a session that ends in the middle of a decision decides nothing, and what was typed is there again", async () => {
  const reason = "a long and thoughtful reason";
  const record = await ask(bot, low({ report: "expiry" }));
  const { context, page } = await signedIn(browser, server, "ann");
  const paths = sent(page);
  await openByKeyboard(page, record);
  await page.keyboard.press("d");
  await dialog(page).waitFor();
  await page.keyboard.type(reason);
  await endSessions(page);
  await page.keyboard.press("Control+Enter");
  await signedOut(page);
  await page
    .getByText(/session has ended/i)
    .first()
    .waitFor();
  await fence(page);
  const untouched = async (when) => {
    assert.deepEqual(paths, [], when);
    const now = await rita.get(`/v1/requests/${record.id}`);
    assert.deepEqual([now.state, now.version, now.votes], ["pending", record.version, []], when);
  };
  await untouched("the session had ended");
  // Whoever signs in again finds it where it was; nothing is sent by that.
  await signIn(page, server, "ann");
  await openByKeyboard(page, record);
  await detail(page).getByText(KEPT).waitFor();
  await fence(page);
  await untouched("signing in again decided something");
  await detail(page).getByRole("button", { name: "Continue" }).click();
  assert.equal(await dialog(page).getByLabel("Reason").inputValue(), reason);
  await page.keyboard.press("Control+Enter");
  await think(page);
  const after_ = await until(rita, record.id, ({ state }) => state === "denied");
  assert.deepEqual([after_.decision.reason, after_.decision.by], [reason, ["ann"]]);
  await context.close();
});

test("a denial that the server refuses because the session has ended keeps its reason", async () => {
  // Of high risk: sent at once, without a time to think again.
  const record = await ask(bot, previews.shell());
  const { context, page } = await signedIn(browser, server, "ann");
  await openByKeyboard(page, record);
  await page.keyboard.press("d");
  await dialog(page).waitFor();
  await page.keyboard.type("not on this machine");
  const refused = page.waitForResponse((answer) => /\/decision$/.test(new URL(answer.url()).pathname));
  await endSessions(page);
  await page.keyboard.press("Control+Enter");
  assert.equal((await refused).status(), 401);
  await signedOut(page);
  await signIn(page, server, "ann");
  await openByKeyboard(page, record);
  await page.keyboard.press("d");
  assert.equal(await dialog(page).getByLabel("Reason").inputValue(), "not on this machine");
  await page.keyboard.press("Control+Enter");
  const after_ = await until(rita, record.id, ({ state }) => state === "denied");
  assert.equal(after_.decision.reason, "not on this machine");
  // What was sent is forgotten, as soon as the page has heard that it was taken.
  await page.waitForFunction(() => !Object.keys(sessionStorage).some((key) => /draft/.test(key)));
  await context.close();
});

test("an edit and an answer that were begun are there again after the session ended by itself", async () => {
  const record = await ask(bot, editable());
  const asked = await ask(bot, questions.text());
  const { context, page } = await signedIn(browser, server, "ann");
  await openByKeyboard(page, asked);
  await page.keyboard.press("r");
  await dialog(page).waitFor();
  await page.keyboard.type("Falc");
  await endSessions(page);
  await signedOut(page);
  await signIn(page, server, "ann");
  await openByKeyboard(page, asked);
  await page.keyboard.press("r");
  assert.equal(await dialog(page).getByRole("textbox", { name: "Answer" }).inputValue(), "Falc");
  // Who closes the dialog has thought better of it.
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  assert.equal(await detail(page).getByText(KEPT).count(), 0);

  await openByKeyboard(page, record);
  await page.keyboard.press("e");
  await dialog(page).waitFor();
  await dialog(page).getByLabel(/^to/).fill("Somebody else");
  await endSessions(page);
  await signedOut(page);
  await signIn(page, server, "ann");
  await openByKeyboard(page, record);
  await page.keyboard.press("e");
  assert.equal(await dialog(page).getByLabel(/^to/).inputValue(), "Somebody else");
  assert.equal(
    await dialog(page)
      .getByLabel(/^amount/)
      .inputValue(),
    "420",
  );
  await context.close();
});

test("what was typed is not shown to another person, nor on another version", async () => {
  const record = await ask(bot, low({ report: "mine alone" }));
  const { context, page } = await signedIn(browser, server, "ann");
  const type = async (text) => {
    await openByKeyboard(page, record);
    await page.keyboard.press("d");
    await dialog(page).waitFor();
    await page.keyboard.type(text);
    await endSessions(page);
    await signedOut(page);
  };
  const empty = async (who) => {
    await openByKeyboard(page, record);
    assert.equal(await detail(page).getByText(KEPT).count(), 0, who);
    await page.keyboard.press("d");
    assert.equal(await dialog(page).getByLabel("Reason").inputValue(), "", who);
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
  };
  await type("for my eyes");
  await signIn(page, server, "bob");
  await empty("bob");
  await endSessions(page);
  await signedOut(page);
  // Ann's words went when somebody else came in.
  await signIn(page, server, "ann");
  await empty("ann, after bob");
  await type("about version one");
  await rita.post(`/v1/requests/${record.id}/reassign`, { to: ["rita"] });
  await signIn(page, server, "ann");
  await empty("ann, on another version");
  await context.close();
});

test("a session that ends while an approval can still be undone sends nothing", async () => {
  const record = await ask(bot, low({ report: "expiry while waiting" }));
  const { context, page } = await signedIn(browser, server, "ann");
  const paths = sent(page);
  await openByKeyboard(page, record);
  await freeze(page);
  await page.keyboard.press("a");
  await page.getByRole("button", { name: "Undo" }).first().waitFor();
  await endSessions(page);
  await page.clock.resume();
  await signedOut(page);
  await fence(page);
  assert.deepEqual(paths, []);
  const after_ = await rita.get(`/v1/requests/${record.id}`);
  assert.equal(after_.state, "pending");
  assert.equal(after_.votes.length, 0);
  await context.close();
});
