// Every value that would run can be read before a yes: in the detail, in a batch and in the dialogs. Random arguments
// with few different values, so that many places have the same text.
import assert from "node:assert/strict";
import { ask, previews } from "../lib/ask.mjs";
import { LONG, launch, signedIn } from "../lib/browser.mjs";
import { after, before, test } from "../lib/limited.mjs";
import { detail, dialog, settle, shown } from "../lib/screen.mjs";
import { Server } from "../lib/server.mjs";

/** The same numbers in every run, so that a failure comes back. */
function random(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const VALUES = ["true", true, "12", 12, "", " ", null, {}, [], "x", "x ", "POST", false, "a, b"];
const NAMES = ["a", "b", "0", "to", "note", "x/y", "dry_run", "options"];

function value(pick, depth) {
  const kind = depth > 2 ? 0 : pick(4);
  if (kind < 2) return VALUES[pick(VALUES.length)];
  if (kind === 2) return Array.from({ length: pick(3) }, () => value(pick, depth + 1));
  return Object.fromEntries(
    Array.from({ length: pick(3) }, () => [NAMES[pick(NAMES.length)], value(pick, depth + 1)]),
  );
}

/** Known shapes whose own values are equal to those beside them. */
const SHAPES = [
  () => ({ ...previews.shell(), arguments: { command: "true", cwd: "x", description: "true" } }),
  () => ({
    ...previews.shell(),
    arguments: { command: "git pull || true", dangerouslyDisableSandbox: true },
  }),
  () => ({ ...previews.sql(), arguments: { sql: "DELETE FROM x", database: "x" } }),
  () => ({ ...previews.diff(), arguments: { path: "x", old_string: "12", new_string: "true" } }),
  () => ({
    ...previews.http(),
    arguments: { method: "POST", url: "https://a.example/x", headers: { a: "POST" }, body: "12" },
  }),
  () => ({ ...previews.email(), arguments: { to: ["x", "a, b"], cc: ["x"], subject: "12", body: "true" } }),
  () => ({
    ...previews.money(),
    arguments: { amount: "12", currency: "EUR", to: "x", reference: "12", iban: "x" },
  }),
  () => ({ ...previews.json(), arguments: {} }),
];

function made(pick, shape) {
  const body = shape();
  for (let more = pick(5); more > 0; more -= 1) {
    const name = NAMES[pick(NAMES.length)];
    if (!(name in body.arguments)) body.arguments[name] = value(pick, 0);
  }
  return { ...body, session: "whole" };
}

/** Every leaf of a value: its place as the page writes it, and its literal. */
function leaves(inner, place = []) {
  if (inner !== null && typeof inner === "object") {
    const list = Array.isArray(inner);
    const entries = Object.entries(inner);
    if (entries.length > 0)
      return entries.flatMap(([key, each]) => {
        const name = key.replaceAll("~", "~0").replaceAll("/", "~1");
        return leaves(each, [...place, !list && /^\d+$/.test(key) ? `"${name}"` : name]);
      });
  }
  return [{ place: place.join("/") || "arguments", text: JSON.stringify(inner) }];
}

/** In the page: what is listed with its place, and the texts of the preview, one for every place that shows one. */
function readable(selector) {
  const root = document.querySelector(selector);
  const listed = [...root.querySelectorAll("dl")].flatMap((list) =>
    list.closest("[data-preview]")
      ? []
      : [...list.querySelectorAll("dt")].map((name) => [
          name.textContent.replace(/ \(changed\)$/, ""),
          name.nextElementSibling?.textContent ?? "",
        ]),
  );
  const slots = [];
  for (const part of root.querySelectorAll("[data-preview]")) {
    for (const element of part.querySelectorAll("pre, span.verbatim, code.verbatim")) {
      if (element.closest("ol")) continue;
      const sign = element.parentElement?.firstElementChild?.textContent;
      const times = element.tagName === "CODE" && sign === " " ? 2 : 1;
      for (let time = 0; time < times; time += 1) slots.push(element.textContent);
    }
  }
  return { listed, slots };
}

/** The leaves that cannot be read: neither listed under their place, nor with a place of their own in the preview. */
function missing(args, { listed, slots }) {
  const free = [...slots];
  return leaves(args).filter(({ place, text }) => {
    if (listed.some(([at, shown]) => (at === place || at === `arguments/${place}`) && shown === text))
      return false;
    const inner = text.startsWith('"') ? JSON.parse(text) : text;
    const at = typeof inner === "string" && inner.trim() === inner && inner !== "" ? free.indexOf(inner) : -1;
    if (at >= 0) free.splice(at, 1);
    return at < 0;
  });
}

/** In the page: opens what is folded and scrolls to the end, as a reader would. */
async function readAll(selector) {
  const root = document.querySelector(selector);
  for (const each of root.querySelectorAll("button")) if (/^Show all/.test(each.textContent)) each.click();
  await window.painted();
  const box = root.matches("[role=region]") ? root : root.querySelector("[role=region]");
  for (let turn = 0; turn < 200 && box; turn += 1) {
    const top = box.scrollTop;
    box.scrollBy({ top: box.clientHeight * 0.8, behavior: "instant" });
    await window.painted();
    if (box.scrollTop === top) break;
  }
  await window.painted();
}

let server;
let browser;
let bot;
let rita;
/** What was asked. */
let asked;

before(async () => {
  server = await Server.start();
  await server.person("ann");
  bot = await server.agent();
  rita = await server.reviewer();
  browser = await launch();
  const pick = random(17);
  asked = [];
  for (let turn = 0; turn < (LONG ? 12 : 3); turn += 1)
    for (const shape of SHAPES) {
      const body = made(pick, shape);
      asked.push({ body, record: await ask(bot, body) });
    }
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

test("every value can be read in the detail and in the dialogs of a decision, or nothing can be approved", async () => {
  const { context, page } = await signedIn(browser, server, "ann");
  await page.goto(`${server.url}/queue?session=whole`);
  await page.locator("[role=option]").first().waitFor();
  const problems = [];
  const note = (where, body, gone) => {
    for (const { place, text } of gone)
      problems.push(`${where} ${body.tool} ${JSON.stringify(body.arguments)}: ${place} ${text}`);
  };
  const dialogs = new Set();
  for (const { body, record } of asked) {
    await page.evaluate((id) => {
      history.pushState(null, "", `/queue?session=whole&r=${id}`);
      dispatchEvent(new PopStateEvent("popstate"));
    }, record.id);
    await shown(page, record.id);
    await settle(page);
    await page.evaluate(readAll, "article");
    const yes = detail(page)
      .getByRole("button", { name: /^Approve/ })
      .first();
    const gone = missing(body.arguments, await page.evaluate(readable, "article"));
    if (gone.length > 0 && (await yes.getAttribute("aria-disabled")) !== "true") note("detail", body, gone);
    // One dialog of each tool is enough: all of them draw what the detail draws.
    if (dialogs.has(body.tool) || body.tool === "reports.publish") continue;
    dialogs.add(body.tool);
    await yes.and(page.locator("[aria-disabled=false]")).click();
    await dialog(page).waitFor();
    note("dialog", body, missing(body.arguments, await page.evaluate(readable, "dialog[open]")));
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    await settle(page);
    await detail(page).getByRole("button", { name: /^Edit/ }).click();
    await dialog(page)
      .getByRole("tab", { name: "Raw JSON" })
      .evaluate((tab) => tab.click());
    const edited = { ...body.arguments, added: { deep: ["true", true] } };
    await dialog(page).getByRole("textbox").first().fill(JSON.stringify(edited));
    await settle(page);
    await dialog(page).getByRole("region", { name: "What will happen" }).waitFor();
    note(
      "edit",
      { ...body, arguments: edited },
      missing(edited, await page.evaluate(readable, "dialog[open]")),
    );
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    await settle(page);
  }
  assert.deepEqual(problems, []);
  await context.close();
});

test("every value can be read in a batch", async () => {
  const { context, page } = await signedIn(browser, server, "ann");
  await page.goto(`${server.url}/queue?session=whole`);
  await page.locator("[role=option]").first().waitFor();
  await settle(page);
  // Risky ones are decided one by one, so the batch has those of low and medium risk.
  await page.keyboard.press("x");
  for (let turn = 1; turn < asked.length; turn += 1) await page.keyboard.press("J");
  await page.keyboard.press("a");
  await dialog(page).locator("section[data-id]").first().waitFor();
  await settle(page);
  await page.evaluate(readAll, "dialog[open]");
  const problems = [];
  const sections = await dialog(page)
    .locator("section[data-id]")
    .evaluateAll((all) => all.map((each) => each.dataset.id));
  assert.ok(sections.length >= 4, `${sections.length} in the batch`);
  for (const id of sections) {
    const { body } = asked.find(({ record }) => record.id === id);
    const gone = missing(
      body.arguments,
      await page.evaluate(readable, `dialog[open] section[data-id="${id}"]`),
    );
    for (const { place, text } of gone)
      problems.push(`${body.tool} ${JSON.stringify(body.arguments)}: ${place} ${text}`);
  }
  assert.deepEqual(problems, []);
  await context.close();
});

test("a replacement is listed whole beside what it replaces", async () => {
  const record = await ask(bot, {
    ...previews.money(),
    arguments: { amount: "12", currency: "EUR", to: "x", dry_run: true },
    session: "replaced",
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
  const { context, page } = await signedIn(browser, server, "ann");
  await page.goto(`${server.url}/queue?r=${record.id}`);
  await shown(page, record.id);
  await settle(page);
  const all = await page.evaluate(readable, "article");
  assert.deepEqual(missing(now, all), []);
  assert.deepEqual(missing({ dry_run: true }, all), []);
  await context.close();
});
