// The live connection: how fast, how smooth, and what happens when it breaks or the session ends.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ask, askMany, editable, low, previews, questions } from "../../lib/ask.mjs";
import { LONG, launch, signedIn, signIn } from "../../lib/browser.mjs";
import { detail, dialog, openByKeyboard, row, toasts, UNDO, until } from "../../lib/screen.mjs";
import { program, Server } from "../../lib/server.mjs";

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

/** In the page: notes long tasks, and when each row was first on screen. */
function instruments() {
  window.measured = { tasks: [], rows: new Map(), first: null };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.measured.tasks.push(Math.round(entry.duration));
  }).observe({ type: "longtask", buffered: true });
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) {
      for (const node of addedNodes) {
        if (!(node instanceof Element)) continue;
        const rows = node.matches("[role=option][data-id]")
          ? [node]
          : node.querySelectorAll("[role=option][data-id]");
        for (const each of rows) {
          if (window.measured.rows.has(each.dataset.id)) continue;
          // On screen after the next frame.
          requestAnimationFrame(() => {
            const at = performance.timeOrigin + performance.now();
            if (!window.measured.rows.has(each.dataset.id)) window.measured.rows.set(each.dataset.id, at);
            window.measured.first ??= performance.now();
          });
        }
      }
    }
  }).observe(document, { childList: true, subtree: true });
}

const quantile = (numbers, share) =>
  [...numbers].sort((left, right) => left - right)[
    Math.min(numbers.length - 1, Math.floor(numbers.length * share))
  ];

const ROUNDS = 3;

/** Twenty requests, one after the other: how late each was on screen, and what the machine takes for the parts of that. */
async function lateness(page, round) {
  const late = [];
  const parts = [];
  for (let turn = 0; turn < 20; turn += 1) {
    // The answer comes after the commit; the record says when the server began. Both are this machine's clock.
    const began = performance.now();
    const record = await ask(bot, low({ round, turn }));
    const answered = performance.now() - began;
    await row(page, record.id).waitFor();
    await page.waitForFunction((id) => window.measured.rows.has(id), record.id);
    const seen = await page.evaluate((id) => window.measured.rows.get(id), record.id);
    late.push(seen - Date.parse(record.created_at));
    const frame = await page.evaluate(async () => {
      const before = performance.now();
      for (let frames = 0; frames < 2; frames += 1) await new Promise(requestAnimationFrame);
      return performance.now() - before;
    });
    parts.push(answered + frame);
    await sleep(30);
  }
  return { late, parts };
}

test("an event is on screen within 100 ms of its commit, or of what a slow machine takes for a commit and a frame", async (t) => {
  const { context, page } = await signedIn(browser, server, "ann");
  await page.addInitScript(instruments);
  await page.goto(`${server.url}/queue`);
  await page.getByText("Nothing is waiting").waitFor();
  const said = [];
  let met = false;
  // A machine that was busy for a moment is measured again; a dashboard that is slow is slow in every round.
  for (let round = 0; round < ROUNDS && !met; round += 1) {
    const { late, parts } = await lateness(page, round);
    const limit = Math.max(100, 2 * quantile(parts, 0.9));
    met = quantile(late, 0.9) < limit;
    said.push(
      `from the server's own time of creation to the frame: median ${quantile(late, 0.5).toFixed(0)} ms, p90 ${quantile(late, 0.9).toFixed(0)} ms, worst ${Math.max(...late).toFixed(0)} ms; at most ${limit.toFixed(0)} ms`,
    );
    t.diagnostic(said.at(-1));
    console.log(`# ${said.at(-1)}`);
  }
  assert.ok(met, said.join("; "));
  await context.close();
});

const smooth = ({ tasks }) => Math.max(0, ...tasks) <= 200;

test(`a queue of ${LONG ? "10,000" : "1,000"} paints fast and stays smooth in a burst of 1,000`, async (t) => {
  const { items } = await rita.get("/v1/requests?state=pending&limit=500");
  const many = LONG ? 10_000 : 1_000;
  const agents = await Promise.all(Array.from({ length: 4 }, (_, at) => server.agent(`crowd-${at}`)));
  await Promise.all(
    agents.map((agent, at) => askMany(agent, many / agents.length, (turn) => low({ crowd: at, turn }), 16)),
  );
  const { context, page, seen } = await signedIn(browser, server, "ann");
  await page.addInitScript(instruments);
  const paints = [];
  for (let turn = 0; turn < 3; turn += 1) {
    await page.goto(`${server.url}/queue`);
    await page.waitForFunction(() => window.measured.first !== null);
    paints.push(await page.evaluate(() => window.measured.first));
  }
  const all = many + items.length;
  await page.waitForFunction(
    (count) => document.querySelector("[role=status]")?.textContent?.includes(String(count)),
    all,
    { timeout: 60_000 },
  );
  const before_ = await page.evaluate(() => window.measured.tasks.splice(0));
  // Bursts while somebody moves through the list: one, and another if the machine was busy. A list that is not smooth is
  // not smooth in any of them.
  const bursts = [];
  for (let round = 0; round < ROUNDS && !bursts.some(smooth); round += 1) {
    const started = Date.now();
    let moving = true;
    const moves = (async () => {
      while (moving) {
        await page.keyboard.press("j");
        await sleep(60);
      }
    })();
    await Promise.all(
      agents.map((agent, at) => askMany(agent, 250, (turn) => low({ burst: at, round, turn }), 16)),
    );
    const took = Date.now() - started;
    await page.waitForFunction(
      (count) => document.querySelector("[role=status]")?.textContent?.includes(String(count)),
      all + 1_000 * (round + 1),
      { timeout: 60_000 },
    );
    moving = false;
    await moves;
    await sleep(300);
    bursts.push({ took, tasks: await page.evaluate(() => window.measured.tasks.splice(0)) });
  }
  const text = `first rows of ${all} pending after ${paints.map((each) => `${each.toFixed(0)} ms`).join(", ")}; while loading ${before_.length} long tasks, worst ${Math.max(0, ...before_)} ms; ${bursts.map(({ took, tasks }) => `burst of 1,000 in ${took} ms: ${tasks.length} long tasks, worst ${Math.max(0, ...tasks)} ms`).join("; ")}`;
  t.diagnostic(text);
  console.log(`# ${text}`);
  // A program built without optimisation takes most of this time for its answer.
  assert.ok(Math.min(...paints) < (/[\\/]debug[\\/]/.test(program()) ? 2_500 : 1_000), text);
  assert.ok(bursts.some(smooth), text);
  assert.ok((await page.locator("[role=option]").count()) < 120, "the list is not virtual");
  assert.deepEqual(seen.errors, []);
  await context.close();
});

test("a restart of the server is survived: told, reconnected, nothing missed", async () => {
  const { context, page } = await signedIn(browser, server, "ann");
  await page.goto(`${server.url}/queue?session=restart`);
  await page.getByText("No pending request matches").waitFor();
  const first = await ask(bot, low({}, { session: "restart" }));
  await row(page, first.id).waitFor();
  await server.end("SIGKILL");
  await page.getByText("Connection lost").waitFor({ timeout: 10_000 });
  // No decision is taken while nobody listens.
  await page.keyboard.press("a");
  await sleep(UNDO / 5);
  await server.run(false);
  const second = await ask(bot, low({}, { session: "restart" }));
  await row(page, second.id).waitFor({ timeout: 30_000 });
  await page.getByText("Connection lost").waitFor({ state: "detached" });
  assert.equal((await rita.get(`/v1/requests/${first.id}`)).state, "pending");
  // And it is live again.
  const third = await ask(bot, low({}, { session: "restart" }));
  await row(page, third.id).waitFor({ timeout: 5_000 });
  await context.close();
});

/** Ends all sessions of a person, as an admin. */
async function endSessions(page) {
  const { session } = await page.evaluate(async () => (await fetch("/v1/session")).json());
  await server.admin.ok("DELETE", `/v1/sessions/${session.id}`);
}

const KEPT = /What you typed is kept/;
const signedOut = (page) =>
  page.getByRole("heading", { name: "Sign in" }).waitFor({ timeout: UNDO + 15_000 });

test("a session that ends in the middle of a decision decides nothing, and what was typed is there again", async () => {
  const reason = "a long and thoughtful reason";
  const record = await ask(bot, low({ report: "expiry" }));
  const { context, page } = await signedIn(browser, server, "ann");
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
  await sleep(UNDO);
  const untouched = async (when) => {
    const now = await rita.get(`/v1/requests/${record.id}`);
    assert.deepEqual([now.state, now.version, now.votes], ["pending", record.version, []], when);
  };
  await untouched("the session had ended");
  // Whoever signs in again finds it where it was; nothing is sent by that.
  await signIn(page, server, "ann");
  await openByKeyboard(page, record);
  await detail(page).getByText(KEPT).waitFor();
  await sleep(UNDO + 500);
  await untouched("signing in again decided something");
  await detail(page).getByRole("button", { name: "Continue" }).click();
  assert.equal(await dialog(page).getByLabel("Reason").inputValue(), reason);
  await page.keyboard.press("Control+Enter");
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
  const drafts = () => page.evaluate(() => Object.keys(sessionStorage).filter((key) => /draft/.test(key)));
  for (let tries = 0; tries < 50 && (await drafts()).length > 0; tries++) await page.waitForTimeout(100);
  assert.deepEqual(await drafts(), []);
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
  await openByKeyboard(page, record);
  await page.keyboard.press("a");
  await page.getByRole("button", { name: "Undo" }).first().waitFor();
  await endSessions(page);
  await Promise.any([
    page.getByRole("heading", { name: "Sign in" }).waitFor({ timeout: UNDO + 15_000 }),
    toasts(page)
      .getByText(/session has ended/i)
      .waitFor({ timeout: UNDO + 5_000 }),
  ]);
  await sleep(UNDO);
  const after_ = await rita.get(`/v1/requests/${record.id}`);
  assert.equal(after_.state, "pending");
  assert.equal(after_.votes.length, 0);
  await context.close();
});
