// Where things are on the screen, by what people and screen readers see.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { quiet } from "./browser.mjs";
import { BOUND } from "./server.mjs";

/** Buttons do nothing for a moment after what is shown has changed. */
export const SETTLE = 800;
/** How long a decision of low or medium risk can be undone. */
export const UNDO = 5_000;

/** Time passes in the page, and only there: what is due by then happens now. */
export const pass = (page, milliseconds) => page.clock.fastForward(milliseconds);

/** Everything is shown, and the moment is over in which buttons do nothing. What comes later begins another one. */
export async function settle(page) {
  await quiet(page);
  await pass(page, SETTLE);
}

/** Time stands still in the page, and buttons act: what has a time to think again is not sent until time passes. */
export async function freeze(page) {
  for (;;) {
    const now = await page.evaluate(() => Date.now());
    // Refused if that moment is over by now. The clock stands even then, so the next attempt succeeds.
    const late = await page.clock.pauseAt(now + SETTLE).catch((error) => error);
    if (!late) return;
    if (!/past/.test(String(late))) throw late;
  }
}

/** Time goes on, after what is due at its end has happened. */
export async function thaw(page, milliseconds) {
  await pass(page, milliseconds);
  await page.clock.resume();
}

/** Waits for the decision that can be undone, and lets its time to think again pass. */
export async function think(page) {
  await page.getByRole("button", { name: "Undo" }).first().waitFor();
  await pass(page, UNDO);
}

/** What the page has sent to decide: the paths of its calls, as they come. */
export function sent(page) {
  const paths = [];
  page.on("request", (request) => {
    const { pathname, search } = new URL(request.url());
    // A query that only asks what a decision would do decides nothing.
    if (request.method() === "POST" && /\/decisions?$/.test(pathname) && !/dry_run/.test(search))
      paths.push(pathname);
  });
  return paths;
}

export const row = (page, id) => page.locator(`[role="option"][data-id="${id}"]`);
export const detail = (page) => page.getByRole("article", { name: "Request" });
/** What asks for something: a dialog, or the form in the bar below a request. */
export const dialog = (page) => page.locator("dialog[open], form[data-bar]");
export const toasts = (page) => page.getByRole("region", { name: "Messages" });

/** Opens a request by keyboard alone: the palette takes ids. Does not leave the page, so nothing that waits is lost. */
export async function openByKeyboard(page, record) {
  await page.getByRole("navigation").first().waitFor();
  await page.keyboard.press("Control+k");
  await dialog(page).waitFor();
  await page.keyboard.type(record.id);
  await page.getByRole("option", { name: new RegExp(record.id) }).waitFor();
  await page.keyboard.press("Enter");
  await dialog(page).waitFor({ state: "detached" });
  await page.waitForURL((url) => url.searchParams.get("r") === record.id);
  await shown(page, record.id);
  await settle(page);
}

/** Reads the card to its end: as long as a part was not on the screen, the key of the approval shows the next one. */
export async function readToEnd(page) {
  const unread = page.locator("[role=group] p[role=status]").filter({ hasText: "Scroll through everything" });
  for (let before = ""; ; ) {
    const now = await unread.textContent({ timeout: 500 }).catch(() => null);
    if (now === null) return;
    assert.notEqual(now, before, "the key shows nothing more");
    before = now;
    await page.keyboard.press("a");
    await settle(page);
  }
}

/** Scrolls through every request of a batch. */
export async function readBatch(page) {
  await dialog(page)
    .getByRole("region", { name: "Every request in this batch" })
    .evaluate(async (list) => {
      for (let top = 0; top < list.scrollHeight; top += 150) {
        list.scrollTo({ top });
        await window.painted();
      }
    });
}

/** Waits until the detail is that of this request. */
export async function shown(page, id) {
  await page.locator(`article[data-id="${id}"]`).waitFor();
}

/** Opens a request by its address. */
export async function openByAddress(page, server, id) {
  await page.goto(`${server.url}/queue?r=${id}`);
  await shown(page, id);
}

/** Moves the focus by Tab until it is on the element. */
export async function tabTo(page, locator, most = 60) {
  for (let turn = 0; turn < most; turn += 1) {
    if (await locator.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab does not reach ${locator}`);
}

/** Reads a request until it looks as wanted. */
export async function until(api, id, wanted) {
  const end = Date.now() + BOUND;
  let record;
  do {
    record = await api.get(`/v1/requests/${id}`);
    if (wanted(record)) return record;
    await sleep(30);
  } while (Date.now() < end);
  assert.fail(`${id} stays ${record.state}: ${JSON.stringify(record.decision)}`);
}

/** Nothing that must never happen has happened. */
export function clean(seen) {
  assert.deepEqual(seen, { foreign: [], errors: [], dialogs: [], popups: [] });
}
