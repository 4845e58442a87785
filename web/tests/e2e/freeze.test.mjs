// The stop switch, from the button to the line above every page, against the real program.
import assert from "node:assert/strict";
import { ask, low } from "../lib/ask.mjs";
import { asPage, launch, signedIn } from "../lib/browser.mjs";
import { after, before, test } from "../lib/limited.mjs";
import { clean, detail, dialog, openByKeyboard, sent, toasts } from "../lib/screen.mjs";
import { Server } from "../lib/server.mjs";

let server;
let browser;
let bot;

before(async () => {
  server = await Server.start();
  await server.person("ann", ["reviewer", "admin"]);
  await server.person("bob");
  bot = await server.agent();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

test("a reviewer stops everything, nothing is approved meanwhile, everybody sees it, and an admin lifts it", async () => {
  const asked = await ask(bot, low());
  const bob = await signedIn(browser, server, "bob");
  await bob.page.goto(`${server.url}/queue`);
  await bob.page.getByRole("button", { name: "Stop everything" }).first().click();
  const stop = dialog(bob.page);
  assert.ok(await stop.getByRole("button", { name: "Stop everything" }).isDisabled(), "it needs a reason");
  await stop.getByLabel("Why").fill("<b>something</b> is wrong");
  await stop.getByRole("button", { name: "Stop everything" }).click();
  const line = (page) => page.getByTestId("frozen");
  await line(bob.page).waitFor();
  const words = await line(bob.page).textContent();
  assert.match(words, /Everything is frozen\..*By bob:.*<b>something<\/b> is wrong/s);
  assert.match(words, /An admin can lift it/);
  assert.equal(await line(bob.page).getByRole("button").count(), 0, "not for a reviewer");

  // What is pending can be read, and is not approved: the page says so, and the server refuses.
  const decisions = sent(bob.page);
  await openByKeyboard(bob.page, asked);
  await bob.page.keyboard.press("a");
  await toasts(bob.page).getByText("Everything is frozen.").first().waitFor();
  assert.deepEqual(decisions, []);
  const { digest, version } = asked;
  const read = await asPage(bob.page, "GET", `/v1/requests/${asked.id}`);
  const vote = { decision: "approve", digest, version, view: read.body.view.digest };
  const path = `/v1/requests/${asked.id}/decision`;
  const refused = await asPage(bob.page, "POST", path, vote);
  assert.deepEqual([refused.status, refused.body.code], [423, "frozen"]);
  assert.equal((await bot.get(`/v1/requests/${asked.id}`)).state, "pending");

  const ann = await signedIn(browser, server, "ann");
  await ann.page.goto(`${server.url}/history`);
  await line(ann.page).getByRole("button", { name: "Lift it" }).click();
  await line(ann.page).waitFor({ state: "detached" });
  await bob.page.reload();
  await detail(bob.page).waitFor();
  assert.equal(await line(bob.page).count(), 0);
  clean(ann.seen);
  clean(bob.seen);
  await ann.context.close();
  await bob.context.close();
});
