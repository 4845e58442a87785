// What the server would refuse is said before anybody tries, and its button does nothing.
import assert from "node:assert/strict";
import { ask, askMany, confirmation, low } from "../lib/ask.mjs";
import { launch, signedIn } from "../lib/browser.mjs";
import { after, before, test } from "../lib/limited.mjs";
import {
  clean,
  detail,
  dialog,
  openByAddress,
  openByKeyboard,
  row,
  sent,
  settle,
  think,
  toasts,
  until,
} from "../lib/screen.mjs";
import { Api, POLICY, Server } from "../lib/server.mjs";

const RULES = `${POLICY}
[[rule]]
name = "four-eyes"
effect = "hold"
risk = "low"
tool = "own.*"
needs = { people = 1, four_eyes = true }

[[rule]]
name = "team"
effect = "hold"
risk = "low"
tool = "books.*"
needs = { people = 1, team = "finance" }
`;

let server;
let browser;
let coder;
let rita;

before(async () => {
  server = await Server.start({ policy: RULES });
  await server.person("ann");
  await server.person("bob");
  await server.person("root", ["reviewer", "admin"]);
  await server.person("olga", ["auditor"]);
  const { key } = await server.admin.post("/v1/keys", { role: "agent", name: "coder", owner: "ann" });
  coder = new Api(server.url, key);
  rita = await server.reviewer();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

let folders = 0;
/** The question of the hook program whether its agent may work in a folder. */
const folder = () => {
  folders += 1;
  const question = confirmation({ context: { open_folder: `/srv/app-${folders}` } });
  return coder.ok("POST", "/v1/requests", question, { "placet-door": "hook-program" });
};
const button = (page, name) => detail(page).getByRole("button", { name });
const off = async (locator) => (await locator.getAttribute("aria-disabled")) === "true";

test("a folder question says who can approve it, and only they have the button", async () => {
  const asked = await folder();
  const bob = await signedIn(browser, server, "bob");
  const decisions = sent(bob.page);
  await openByAddress(bob.page, server, asked.id);
  await detail(bob.page).getByText("Only ann, who owns coder, or an admin can approve this.").waitFor();
  await settle(bob.page);
  assert.ok(await off(button(bob.page, /Open the folder/)));
  assert.ok(!(await off(button(bob.page, /^No/))), "a no is everybody's");
  await bob.page.keyboard.press("a");
  await toasts(bob.page).getByText("Only ann, who owns coder").waitFor();
  assert.deepEqual(decisions, []);

  for (const name of ["root", "ann"]) {
    const other = await signedIn(browser, server, name);
    await openByAddress(other.page, server, asked.id);
    await settle(other.page);
    assert.ok(!(await off(button(other.page, /Open the folder/))), name);
    assert.equal(await detail(other.page).getByText("can approve this").count(), 0, name);
    if (name === "ann") {
      await button(other.page, /Open the folder/).click();
      const sure = dialog(other.page).getByRole("button", { name: /Open the folder/ });
      await sure.or(other.page.getByRole("button", { name: "Undo" }).first()).waitFor();
      if (await sure.isVisible()) await sure.click();
      await think(other.page);
      await until(rita, asked.id, ({ state }) => state === "approved");
    }
    clean(other.seen);
    await other.context.close();
  }
  clean(bob.seen);
  await bob.context.close();
});

test("a no of somebody who cannot say yes closes the question", async () => {
  const asked = await folder();
  const { context, page, seen } = await signedIn(browser, server, "bob");
  await openByKeyboard(page, asked);
  await page.keyboard.press("d");
  await dialog(page).getByRole("textbox").fill("not there");
  await dialog(page).getByRole("button", { name: /No/ }).click();
  await think(page);
  await until(rita, asked.id, ({ state }) => state === "denied");
  clean(seen);
  await context.close();
});

test("the owner of the agent and a person of no team are told before they try, alone and in a batch", async () => {
  const own = await ask(coder, low({ report: "mine" }, { tool: "own.publish" }));
  const books = await ask(coder, low({ report: "books" }, { tool: "books.close" }));
  const free = await askMany(coder, 2, (turn) => low({ report: `free ${turn}` }));
  const { context, page, seen } = await signedIn(browser, server, "ann");
  for (const [record, text] of [
    [own, "You own coder. Somebody else must approve this."],
    [books, "Only members of finance can approve this."],
  ]) {
    await openByAddress(page, server, record.id);
    await detail(page).getByText(text).waitFor();
    await settle(page);
    assert.ok(await off(button(page, /^Approve/).first()), text);
  }
  for (const record of [own, books, ...free]) await row(page, record.id).click({ modifiers: ["Control"] });
  await page.getByRole("button", { name: /^Approve…/ }).click();
  await dialog(page).getByText("1 left out: You own coder.").waitFor();
  await dialog(page).getByText("1 left out: Only members of finance").waitFor();
  const text = await dialog(page).getByRole("region").textContent();
  assert.ok(text.includes("free 0") && text.includes("free 1") && !text.includes("mine"), text);
  await settle(page);
  await dialog(page)
    .getByRole("button", { name: /^Approve 2/ })
    .click();
  await dialog(page).getByText("done").nth(1).waitFor();
  assert.equal((await rita.get(`/v1/requests/${own.id}`)).state, "pending");
  for (const { id } of free) await until(rita, id, ({ state }) => state === "approved");
  clean(seen);
  await context.close();
});

test("an auditor can select requests, and has no button that decides them", async () => {
  const asked = await ask(coder, low());
  const { context, page, seen } = await signedIn(browser, server, "olga");
  await openByAddress(page, server, asked.id);
  await detail(page).getByText("Only reviewers decide").waitFor();
  await row(page, asked.id).click({ modifiers: ["Control"] });
  const selection = page.getByRole("group", { name: "1 selected" });
  await selection.getByText("Only reviewers decide").waitFor();
  assert.equal(await selection.getByRole("button").count(), 1, "to clear the selection");
  await page.keyboard.press("a");
  await toasts(page).getByText("Only reviewers decide").waitFor();
  assert.equal(await dialog(page).count(), 0);
  clean(seen);
  await context.close();
});
