// The corpus of deceptions in the real browser: nothing runs, nothing leaves, nothing hides.
import assert from "node:assert/strict";
import { corpus, FORBIDDEN } from "../corpus/deception.mjs";
import { LONG, launch, readPlain, setPassword, signedIn } from "../lib/browser.mjs";
import { after, before, test } from "../lib/limited.mjs";
import { detail, settle, shown } from "../lib/screen.mjs";
import { Server } from "../lib/server.mjs";

let server;
let browser;
let rita;
/** What was accepted, with the server's own view of it. */
let shownAll;

before(async () => {
  server = await Server.start({ set: ["sessions.unbound=password"] });
  await server.person("ann");
  rita = await server.reviewer();
  browser = await launch();
  const bot = await server.agent();
  shownAll = [];
  for (const item of corpus) {
    const { status, body } = await bot.call("POST", "/v1/requests", item.sent);
    if (status === 201) shownAll.push({ item, record: await rita.get(`/v1/requests/${body.id}`) });
    else
      assert.ok(
        item.refusable && status === 422,
        `${item.family}: ${item.name}: ${status} ${JSON.stringify(body).slice(0, 300)}`,
      );
  }
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

test("the corpus is large enough", () => {
  assert.ok(shownAll.length >= 200, `${shownAll.length}`);
});

/** In the page: what would betray a payload that took effect. */
function betrayals() {
  const found = [];
  if (window.pwned !== undefined) found.push("a script ran");
  for (const element of document.querySelectorAll(
    "script:not([src]), iframe, object, embed, base, portal, marquee, [onerror], [onload], [onclick]",
  )) {
    found.push(`<${element.tagName.toLowerCase()}>`);
  }
  for (const element of document.querySelectorAll(
    "img, link[href], source, video, audio, form[action], a[href]",
  )) {
    const address =
      element.getAttribute("src") ?? element.getAttribute("href") ?? element.getAttribute("action");
    if (
      address &&
      new URL(address, document.baseURI).origin !== location.origin &&
      !address.startsWith("data:image/png") &&
      address !== "data:,"
    ) {
      found.push(`${element.tagName} ${address}`);
    }
  }
  if (window.violations?.length) found.push(...window.violations);
  return found;
}

/** In the page: notes what the content security policy had to stop; nothing should get that far. */
function note() {
  window.violations = [];
  document.addEventListener("securitypolicyviolation", (event) => {
    // Registering the offline page's worker is no payload.
    if (!/worker|sw\.js/.test(event.sample + event.blockedURI))
      window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
  });
}

/** In the page: says so when Approve is open although the end of what is to be read is not in view. */
function unguarded() {
  const yes = [...document.querySelectorAll("article button")].find((each) =>
    /Approve/.test(each.textContent),
  );
  if (yes.getAttribute("aria-disabled") === "true") return null;
  const box = document.querySelector("article [role=region]").getBoundingClientRect();
  const all = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
  for (let node = all.nextNode(); node; node = all.nextNode()) {
    const at = node.data.lastIndexOf("rm -rf /");
    if (at < 0) continue;
    const range = document.createRange();
    range.setStart(node, at);
    range.setEnd(node, at + 8);
    const place = range.getBoundingClientRect();
    if (place.bottom <= box.bottom && place.top >= box.top && place.right <= box.right) return null;
  }
  return "Approve is open, and the dangerous part is not in view";
}

/** In the page: opens what is folded, without moving. */
async function openAll() {
  for (let turn = 0; turn < 20; turn += 1) {
    const folds = [...document.querySelectorAll("article button")].filter((each) =>
      /^Show all/.test(each.textContent),
    );
    if (folds.length === 0) return;
    for (const each of folds) each.click();
    await window.painted();
  }
}

/** In the page: scrolls from the top to the end as a reader would; says whether Approve opened on the way. */
async function scrollThrough() {
  const box = document.querySelector("article [role=region]");
  const yes = () =>
    [...document.querySelectorAll("article button")].find((each) => /Approve/.test(each.textContent));
  box.scrollTo({ top: 0, behavior: "instant" });
  for (let turn = 0; turn < 1_000; turn += 1) {
    await window.painted();
    if (yes().getAttribute("aria-disabled") !== "true") return true;
    const top = box.scrollTop;
    box.scrollBy({ top: box.clientHeight * 0.8, behavior: "instant" });
    if (box.scrollTop === top && turn > 0) break;
  }
  // The end was reached: the page notices that in a frame or two.
  for (const end = performance.now() + 60_000; performance.now() < end; ) {
    if (yes().getAttribute("aria-disabled") !== "true") return true;
    await window.painted();
  }
  return false;
}

/** The part of the corpus this run looks at in the dashboard: all of it when there is time. */
const chosen = () => (LONG ? shownAll : shownAll.filter(({ item }, at) => item.guarded || at % 6 === 0));

/** In parts, so that none of them is near the limit of a test on a slow machine. */
const PARTS = 6;
for (let part = 1; part <= PARTS; part += 1) {
  test(`in the dashboard nothing runs, loads or hides, and what cannot be seen cannot be approved (${part} of ${PARTS})`, async (t) => {
    const { context, page, seen } = await signedIn(browser, server, "ann");
    await page.addInitScript(note);
    await page.goto(`${server.url}/queue`);
    await page.locator("[role=option]").first().waitFor();
    const problems = [];
    let guarded = 0;
    const mine = chosen().filter((_, at) => at % PARTS === part - 1);
    for (const { item, record } of mine) {
      const name = `${item.family}: ${item.name}`;
      await page.evaluate((id) => {
        history.pushState(null, "", `/queue?r=${id}`);
        dispatchEvent(new PopStateEvent("popstate"));
      }, record.id);
      try {
        await shown(page, record.id);
      } catch {
        problems.push(`${name}: not shown`);
        continue;
      }
      const found = await page.evaluate(betrayals);
      if (found.length > 0) problems.push(`${name}: ${found.join(", ")}`);
      const text = await detail(page).textContent();
      const raw = FORBIDDEN.exec(text);
      if (raw) problems.push(`${name}: raw U+${raw[0].codePointAt(0).toString(16)} on screen`);
      const row = await page
        .locator(`[role="option"][data-id="${record.id}"]`)
        .first()
        .textContent()
        .catch(() => "");
      if (FORBIDDEN.test(row)) problems.push(`${name}: raw in the list`);

      // The effect comes first and is in view; the agent's words come after it.
      const effect = record.view.sentence;
      if (effect) {
        const at = text.indexOf(effect);
        if (at < 0) problems.push(`${name}: the effect is not shown`);
        const words = record.display.fields.find(({ pointer }) => pointer === "/summary")?.text;
        if (words && at >= 0 && text.indexOf(words) >= 0 && text.indexOf(words) < at)
          problems.push(`${name}: the agent speaks first`);
      }
      // What is not in view cannot be approved: folded parts are opened, and everything is scrolled through.
      if (item.guarded) {
        guarded += 1;
        await settle(page);
        const early = await page.evaluate(unguarded);
        if (early) problems.push(`${name}: ${early}`);
      }
      await page.evaluate(openAll);
      if (item.guarded) {
        const open = await page.evaluate(scrollThrough);
        if (!open) problems.push(`${name}: Approve stays closed after everything was seen`);
      }
      // Every value is there, exactly as the server says.
      // Line ends and tabs of a text are drawn as such, and a text has no quotes where it has a place of its own.
      const whole = (await detail(page).textContent()).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
      for (const field of record.display.fields
        .filter(({ pointer }) => /^\/(arguments|question|message|steps|input)/.test(pointer))
        .slice(0, 300)) {
        const bare = field.text.replace(/^"|"$/g, "");
        if (!whole.includes(bare) && !whole.includes(bare.replaceAll('\\"', '"'))) {
          problems.push(`${name}: ${field.pointer.slice(0, 60)} is not on screen: ${bare.slice(0, 80)}`);
          break;
        }
      }
    }
    t.diagnostic(`${mine.length} of ${corpus.length} payloads, ${guarded} of them guarded`);
    assert.deepEqual(problems, []);
    assert.deepEqual(seen.foreign, []);
    assert.deepEqual(seen.dialogs, []);
    assert.deepEqual(seen.popups, []);
    await context.close();
  });
}

test("on the page of a single request nothing runs, loads or hides", async () => {
  const { context, page, seen } = await signedIn(browser, server, "ann");
  await setPassword(page);
  await page.addInitScript(note);
  const problems = [];
  for (const { item, record } of LONG ? shownAll : shownAll.filter((_, at) => at % 6 === 0)) {
    const name = `${item.family}: ${item.name}`;
    await readPlain(page, `${server.url}/r/${record.id}`);
    const found = await page.evaluate(betrayals);
    if (found.length > 0) problems.push(`${name}: ${found.join(", ")}`);
    const text = await page.locator("body").textContent();
    const raw = FORBIDDEN.exec(text);
    if (raw) problems.push(`${name}: raw U+${raw[0].codePointAt(0).toString(16)} on screen`);
    if (record.display.effect && !text.includes(record.display.effect))
      problems.push(`${name}: the effect is not shown`);
    for (const field of record.display.fields
      .filter(({ pointer }) => pointer.startsWith("/arguments"))
      .slice(0, 300)) {
      if (!text.includes(field.text.replace(/^"|"$/g, ""))) {
        problems.push(`${name}: ${field.pointer.slice(0, 60)} is not on screen`);
        break;
      }
    }
  }
  assert.deepEqual(problems, []);
  assert.deepEqual(seen.foreign, []);
  assert.deepEqual(seen.dialogs, []);
  await context.close();
});
