// Where things are on the screen, by what people and screen readers see.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

/** Buttons do nothing for a moment after what is shown has changed. */
export const SETTLE = 800;
/** How long a decision of low or medium risk can be undone. */
export const UNDO = 5_000;

export const row = (page, id) => page.locator(`[role="option"][data-id="${id}"]`);
export const detail = (page) => page.getByRole("article", { name: "Request" });
export const dialog = (page) => page.locator("dialog[open]");
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
  await sleep(SETTLE);
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
export async function until(api, id, wanted, milliseconds = 9_000) {
  const end = Date.now() + milliseconds;
  let record;
  do {
    record = await api.get(`/v1/requests/${id}`);
    if (wanted(record)) return record;
    await sleep(100);
  } while (Date.now() < end);
  assert.fail(`${id} stays ${record.state}: ${JSON.stringify(record.decision)}`);
}

/** Nothing that must never happen has happened. */
export function clean(seen) {
  assert.deepEqual(seen, { foreign: [], errors: [], dialogs: [], popups: [] });
}
