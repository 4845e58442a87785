// Calls that a coding agent makes at once: one card, one action over what it lists, and each call decided by itself.
import assert from "node:assert/strict";
import { action } from "../lib/ask.mjs";
import { launch, signedIn } from "../lib/browser.mjs";
import { after, before, test } from "../lib/limited.mjs";
import { clean, detail, dialog, openByAddress, row, settle, shown, until } from "../lib/screen.mjs";
import { Server } from "../lib/server.mjs";

let server;
let browser;
let bot;
let rita;

before(async () => {
  server = await Server.start();
  await server.person("ann", ["reviewer", "admin"]);
  bot = await server.agent();
  rita = await server.reviewer();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** A call as the hook program sends it. */
const call = (tool, args, group) =>
  bot.ok("POST", "/v1/requests", action(tool, args, { session: group, group }), {
    "placet-door": "hook-program",
  });
const card = (page) =>
  detail(page)
    .locator("section")
    .filter({ has: page.getByRole("heading", { name: /^Asked together/ }) });
const heads = (page) => page.getByRole("option", { name: /asked together/ });
const decide = ({ id, digest, version }, decision) =>
  rita.post(`/v1/requests/${id}/decision`, { decision, digest, version });

test("calls made at once are one card; one action decides those it lists, and refuses one by one", async () => {
  const { context, page, seen } = await signedIn(browser, server, "ann");
  const a = await call("medium.write", { path: "src/a.rs" }, "turn-1");
  const b = await call("medium.write", { path: "src/b.rs" }, "turn-1");
  const c = await call("medium.write", { path: "src/c.rs" }, "turn-1");
  const risky = await call("high.push", { branch: "main" }, "turn-1");
  const other = await call("medium.write", { path: "elsewhere" }, "turn-2");
  await openByAddress(page, server, b.id);
  await heads(page).waitFor();
  assert.match(await heads(page).textContent(), /4 asked together.*bot/);
  // Under its head stand its rows and no other.
  const order = await page.locator('[role="option"]').evaluateAll((all) => all.map((one) => one.dataset.id));
  const at = order.indexOf(undefined);
  assert.deepEqual(
    order.slice(at + 1, at + 5).sort(),
    [a, b, c, risky].map(({ id }) => id).sort(),
    order.join(),
  );
  await row(page, other.id).waitFor();

  const listed = await card(page).textContent();
  for (const text of ["src/a.rs", "src/b.rs", "src/c.rs", "main"])
    assert.ok(listed.includes(text), `${text} is not in ${listed}`);
  await card(page).getByRole("link").first().click();
  await shown(page, a.id);
  if (process.env.PLACET_SHOTS) await page.screenshot({ path: `${process.env.PLACET_SHOTS}/together.png` });

  // What is of high risk is decided alone.
  await settle(page);
  await card(page)
    .getByRole("button", { name: /Approve 3 of 4/ })
    .click();
  await dialog(page).waitFor();
  // Each item is read again before it is shown; nothing can be approved until all are.
  for (const text of ["src/a.rs", "src/b.rs", "src/c.rs"])
    await dialog(page).getByText(text).first().waitFor();
  // Later than the card, and so no part of it; and somebody else is quicker with one.
  const late = await call("medium.write", { path: "late.rs" }, "turn-1");
  await row(page, late.id).waitFor();
  const approve = dialog(page).getByRole("button", { name: /^Approve \d/ });
  await settle(page);
  await approve.and(page.locator(":enabled")).waitFor();
  if (process.env.PLACET_SHOTS)
    await page.screenshot({ path: `${process.env.PLACET_SHOTS}/together-all.png` });
  await page.route("**/v1/decisions*", async (route) => {
    await decide(b, "deny");
    await route.continue();
  });
  await approve.click();
  await dialog(page).getByText("done").nth(1).waitFor();
  assert.ok((await dialog(page).textContent()).includes("already_decided"));
  await dialog(page).getByRole("button", { name: "Close" }).last().click();

  for (const { id } of [a, c]) {
    assert.equal((await rita.get(`/v1/requests/${id}`)).state, "approved");
    // Each has a permit of its own, once.
    assert.equal((await bot.call("POST", `/v1/requests/${id}/claim`, {})).status, 200);
    assert.equal((await bot.call("POST", `/v1/requests/${id}/claim`, {})).status, 409);
  }
  assert.equal((await rita.get(`/v1/requests/${b.id}`)).state, "denied");
  for (const { id } of [risky, late, other])
    assert.equal((await rita.get(`/v1/requests/${id}`)).state, "pending");
  clean(seen);
  await context.close();
});

test("of a turn only what waits at the same time is a card, and all of it is denied with one reason", async () => {
  const { context, page, seen } = await signedIn(browser, server, "ann");
  await page.goto(`${server.url}/queue`);
  const past = await call("medium.write", { path: "past.rs" }, "turn-3");
  await row(page, past.id).waitFor();
  await decide(past, "approve");
  await until(rita, past.id, ({ state }) => state === "approved");
  const one = await call("medium.write", { path: "one.rs" }, "turn-3");
  await openByAddress(page, server, one.id);
  assert.equal(await card(page).count(), 0, "it waits alone");
  const two = await call("medium.write", { path: "two.rs" }, "turn-3");
  await card(page).waitFor();
  assert.ok(!(await card(page).textContent()).includes("past.rs"), "what is over is no part of it");
  await settle(page);
  await page.keyboard.press("Shift+D");
  await dialog(page).waitFor();
  await page.keyboard.type("not now");
  await dialog(page).getByRole("button", { name: "Deny 2" }).and(page.locator(":enabled")).waitFor();
  await page.keyboard.press("Control+Enter");
  await dialog(page).getByText("done").nth(1).waitFor();
  for (const { id } of [one, two]) {
    const record = await until(rita, id, ({ state }) => state === "denied");
    assert.equal(record.decision.reason, "not now");
  }
  clean(seen);
  await context.close();
});

test("a command is remembered by its form, after the dialog said what it would have let pass", async () => {
  await server.admin.ok("PUT", "/v1/agents/bot/roots", { roots: ["/srv/app"] });
  const command = (text, files) =>
    bot.ok(
      "POST",
      "/v1/requests",
      action(
        "medium.bash",
        { command: text },
        {
          session: "forms",
          context: {
            cwd: "/srv/app",
            paths: Object.fromEntries(files.map((file) => [file, `/srv/app/${file}`])),
            files,
          },
        },
      ),
      { "placet-door": "hook-program" },
    );
  const { context, page, seen } = await signedIn(browser, server, "ann");
  const denied = await command("rustfmt --check old.rs", ["old.rs"]);
  await decide(denied, "deny");
  const first = await command("rustfmt --check a.rs", ["a.rs"]);
  await openByAddress(page, server, first.id);
  await settle(page);
  await page.keyboard.press("a");
  await dialog(page).waitFor();
  await dialog(page).getByText("Note, and what to remember").click();
  await dialog(page)
    .getByLabel(/Commands like this one/)
    .check();
  await dialog(page)
    .getByText(/like `rustfmt --check FILES`/)
    .waitFor();
  const said = await dialog(page).textContent();
  for (const text of ["it would have let 1 pass", "A person denied one of them", "rustfmt --check old.rs"])
    assert.ok(said.includes(text), `${text} is not in ${said}`);
  if (process.env.PLACET_SHOTS) await page.screenshot({ path: `${process.env.PLACET_SHOTS}/form.png` });
  await page.keyboard.press("Control+Enter");
  await until(rita, first.id, ({ state }) => state === "approved");
  assert.equal((await command("rustfmt --check b.rs", ["b.rs"])).state, "approved");
  assert.equal((await command("rustfmt b.rs", ["b.rs"])).state, "pending");
  clean(seen);
  await context.close();
});
