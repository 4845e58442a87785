// The pages beside the queue, worked as a person would.
import assert from "node:assert/strict";
import { action, ask, askMany, low } from "../lib/ask.mjs";
import { launch, quiet, signedIn, who } from "../lib/browser.mjs";
import { after, before, test } from "../lib/limited.mjs";
import { clean, dialog, tabTo, toasts } from "../lib/screen.mjs";
import { seed } from "../lib/seed.mjs";
import { BOUND, Server } from "../lib/server.mjs";

let server;
let browser;
let rita;

before(async () => {
  server = await Server.start();
  ({ rita } = await seed(server, { past: 39 }));
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const asAnn = () => signedIn(browser, server, "ann");

test("history: filters are in the address, the list has no end, a request opens beside it", async () => {
  const bot = await server.agent("mass-bot");
  await askMany(bot, 450, (turn) => low({ turn }, { session: "mass" }));
  const { context, page, seen } = await asAnn();
  await page.goto(`${server.url}/history`);
  const list = page.getByRole("table", { name: /newest first/ });
  await list.getByRole("link").first().waitFor();
  await page.getByLabel("State", { exact: true }).selectOption("denied");
  await page.waitForURL(/state=denied/);
  await page.waitForFunction(() => {
    const badges = [...document.querySelectorAll('[role="row"] [role="cell"]:nth-child(2)')].map(
      (each) => each.textContent,
    );
    return badges.length > 0 && badges.every((each) => each === "Denied");
  });
  await page.goto(`${server.url}/history?agent=mass-bot`);
  await page.getByText(/200 requests, more below/).waitFor();
  const scroller = page.getByRole("table").getByRole("rowgroup").nth(1);
  // The end of the list asks for more, and more again.
  for (const end = Date.now() + BOUND; !(await page.getByText("450 requests").count()); ) {
    assert.ok(Date.now() < end, "the list ends early");
    await scroller.evaluate(async (element) => {
      element.scrollBy(0, 4_000);
      await window.painted();
    });
  }
  assert.ok((await list.getByRole("link").count()) < 80, "the list is not virtual");
  // Back and forward lead through the filters; the request that is open is in the address, too.
  await list.getByRole("link").nth(10).click();
  await page.waitForURL(/id=req_/);
  await page.getByRole("article", { name: "Request" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("article", { name: "Request" }).waitFor({ state: "detached" });
  await page.goto(`${server.url}/history?q=nothing-has-this-name`);
  await page.getByText("No request matches").waitFor();
  clean(seen);
  await context.close();
});

test("history: the exports follow the filters and open as what they say", async () => {
  const { context, page } = await asAnn();
  await page.goto(`${server.url}/history?state=denied`);
  for (const [label, ending] of [
    ["Export JSONL", "jsonl"],
    ["Export CSV", "csv"],
  ]) {
    const waiting = page.waitForEvent("download");
    await page.getByRole("button", { name: label }).click();
    const download = await waiting;
    assert.match(download.suggestedFilename(), new RegExp(`\\.${ending}$`));
    const chunks = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk);
    const lines = Buffer.concat(chunks).toString("utf8").trim().split("\n");
    const wanted = (await rita.get("/v1/requests?state=denied&limit=500")).items;
    if (ending === "jsonl") {
      assert.deepEqual(lines.map((line) => JSON.parse(line).id).sort(), wanted.map(({ id }) => id).sort());
    } else assert.ok(lines.length >= wanted.length + 1);
  }
  await context.close();
});

test("ledger: verifying shows progress and ends with the chain whole; every entry opens", async () => {
  const { context, page, seen } = await asAnn();
  await page.goto(`${server.url}/ledger`);
  await page.getByRole("button", { name: /^Verify/ }).click();
  await page.getByRole("heading", { name: "The chain is whole" }).waitFor();
  const status = await rita.get("/v1/ledger/status");
  assert.equal(status.verified.ok, true);
  await page.getByLabel("Go to entry").fill("2");
  await page.keyboard.press("Enter");
  await dialog(page).getByRole("heading", { name: "Entry 2" }).waitFor();
  const [item] = (await rita.get("/v1/ledger?after=1&limit=1")).items;
  await dialog(page).getByText(item.hash, { exact: true }).waitFor();
  await dialog(page).getByText(item.entry.prev, { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  clean(seen);
  await context.close();
});

const editor = (page) => page.getByRole("textbox", { name: "Policy text" });

test("policy: errors stand at their lines, what-if lists the dangerous first, saving takes the version it was made from", async () => {
  const { context, page, seen } = await asAnn();
  await page.goto(`${server.url}/policy`);
  await page.getByRole("button", { name: "Edit" }).click();
  const before_ = await rita.get("/v1/policy");
  const text = await editor(page).inputValue();
  assert.equal(text, before_.text);
  await editor(page).fill(text.replace('effect = "deny"', 'effect = "dney"'));
  await page.getByText("1 problem").waitFor();
  const line = text.slice(0, text.indexOf('effect = "deny"')).split("\n").length;
  await page.getByRole("button", { name: `line ${line}` }).click();
  const caret = await editor(page).evaluate(
    (area) => area.value.slice(0, area.selectionStart).split("\n").length,
  );
  assert.equal(caret, line);
  assert.equal(await page.getByRole("button", { name: "Put in force" }).isEnabled(), false);

  const next = `${text}\n[[rule]]\nname = "payments"\neffect = "allow"\nrisk = "low"\ntool = ["reports.publish", "pay"]\n`;
  const looser = next.replace(
    'tool = ["high.*", "Bash", "query_database", "pay"]',
    'tool = ["high.*", "Bash", "query_database"]',
  );
  await editor(page).fill(looser);
  await page.getByText("Valid").waitFor();
  await page.getByRole("button", { name: "What would it have done?" }).click();
  const table = page.getByRole("region", { name: /judged differently/ });
  await table.waitFor();
  const report = await server.admin.post("/v1/policy/simulate", { policy: looser });
  const rows = await table.locator("tbody tr").allTextContents();
  assert.ok(report.denied_now_allowed_count > 0, "the seed has no denied payment");
  for (let at = 0; at < report.denied_now_allowed_count; at += 1)
    assert.match(rows[at], /Denied by a person/);
  await page.getByText(`It would allow ${report.denied_now_allowed_count} request`).first().waitFor();
  await page.getByRole("img", { name: /The effect then/ }).waitFor();

  // Somebody else is faster: nothing is overwritten unseen.
  await server.admin.ok("PUT", "/v1/policy", { policy: `${text}\n# by somebody else\n` });
  await page.getByRole("button", { name: "Put in force" }).click();
  await dialog(page).getByRole("button", { name: "Put in force" }).click();
  await page.getByText(/Another policy was put in force meanwhile/).waitFor();
  await page.getByText("# by somebody else").first().waitFor();
  assert.match((await rita.get("/v1/policy")).text, /by somebody else/);
  await page.getByRole("button", { name: "Keep my text" }).click();
  await page.getByRole("button", { name: "Put in force" }).click();
  await dialog(page).getByRole("button", { name: "Put in force" }).click();
  await toasts(page).getByText("The policy is in force.").waitFor();
  const after_ = await rita.get("/v1/policy");
  assert.equal(after_.text, looser);
  assert.equal(after_.by, "ann");

  await page.goto(`${server.url}/policy?tab=versions`);
  await page.getByText("# by somebody else").first().waitFor();
  // Three versions were put: by the file, by somebody else, by Ann.
  assert.equal(
    await page
      .getByRole("list", { name: /^Versions/ })
      .getByRole("listitem")
      .count(),
    3,
  );
  assert.deepEqual(seen.foreign, []);
  await context.close();
});

test("policy: a candidate is tried beside the one in force, and taken away", async () => {
  const { context, page } = await asAnn();
  await page.goto(`${server.url}/policy?tab=edit`);
  await editor(page).fill('version = 1\nname = "candidate"\n[defaults]\neffect = "deny"\n');
  await page.getByText("Valid").waitFor();
  await page.getByRole("button", { name: "Try beside the one in force" }).click();
  await toasts(page)
    .getByText(/being tried/)
    .waitFor();
  await page.getByRole("tab", { name: "Shadow" }).click();
  await page.getByRole("button", { name: "Take it away" }).click();
  await page.getByText("No candidate is being tried").waitFor();
  assert.equal((await server.admin.call("GET", "/v1/policy/shadow")).status, 404);
  await context.close();
});

test("policy: a grant is revoked", async () => {
  const bot = await server.agent("grant-bot");
  const record = await ask(bot, action("reports.share", { report: "granted" }));
  await rita.post(`/v1/requests/${record.id}/decision`, {
    decision: "approve",
    digest: record.digest,
    version: record.version,
    remember: { scope: "exact", expires_in: "8h", uses: 5 },
  });
  const { context, page } = await asAnn();
  await page.goto(`${server.url}/policy?tab=grants`);
  const grants = (await server.admin.get("/v1/grants")).items;
  assert.ok(grants.length > 0);
  await page
    .getByRole("button", { name: /^Revoke/ })
    .first()
    .click();
  await toasts(page).getByText("The grant was revoked.").waitFor();
  assert.equal((await server.admin.get("/v1/grants")).items.length, grants.length - 1);
  await context.close();
});

test("insights: every plot is drawn from the server's figures", async () => {
  const { context, page, seen } = await asAnn();
  await page.goto(`${server.url}/insights`);
  await page.getByRole("img").nth(4).waitFor();
  // A plot that is drawn has more than two colours.
  await page.waitForFunction(() => {
    const plots = [...document.querySelectorAll("canvas")];
    const drawn = (canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const seen = new Set();
      for (let at = 0; at < data.length; at += 4 * 97)
        seen.add(`${data[at]},${data[at + 1]},${data[at + 2]},${data[at + 3]}`);
      return seen.size >= 3;
    };
    return plots.length >= 5 && plots.every(drawn);
  });
  const stats = await rita.get("/v1/stats?days=7");
  const shares = page.locator("details").filter({ hasText: "Grant" });
  await page.getByText("As a table").nth(3).click();
  const row = shares.getByRole("row", { name: /^Policy/ });
  assert.match(await row.textContent(), new RegExp(String(stats.decided_by.policy)));
  await page.getByRole("tab", { name: "Last 30 days" }).click();
  await page.waitForURL(/days=30/);
  clean(seen);
  await context.close();
});

test("people: a person, a link and a key are made; the key is shown once", async () => {
  const { context, page, seen } = await asAnn();
  await page.goto(`${server.url}/people`);
  await page.getByRole("button", { name: "Add a person" }).click();
  await dialog(page).getByLabel("Name").fill("carl");
  await dialog(page).getByLabel("Teams").fill("ops, night");
  await page.keyboard.press("Control+Enter");
  await toasts(page).getByText("carl was saved.").waitFor();
  const people = (await server.admin.get("/v1/people")).items;
  assert.deepEqual(people.find(({ name }) => name === "carl")?.teams.sort(), ["night", "ops"]);

  await page.getByRole("button", { name: "Sign-in link: carl" }).click();
  const link = await dialog(page).getByTestId("secret").textContent();
  const fresh = await (await browser.newContext()).newPage();
  await fresh.goto(link);
  await fresh
    .getByRole("button", { name: /sign in/i })
    .first()
    .click();
  await fresh.waitForURL((url) => !url.pathname.startsWith("/sign-in"));
  assert.equal((await who(fresh)).body.name, "carl");
  await fresh.context().close();
  await dialog(page).getByRole("button", { name: "Done" }).click();

  await page.getByRole("button", { name: "New key" }).click();
  await dialog(page).getByLabel("Agent or person").fill("fresh-bot");
  await page.keyboard.press("Control+Enter");
  const key = await dialog(page).getByTestId("secret").textContent();
  assert.match(key, /^plk_agent_/);
  const made = await fetch(`${server.url}/v1/requests`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(low()),
  });
  assert.equal(made.status, 201);
  await dialog(page).getByRole("button", { name: "Done" }).click();
  assert.ok(!(await page.content()).includes(key), "the key is still on the page");

  await page.getByRole("button", { name: "Folders: fresh-bot" }).click();
  await dialog(page).getByRole("textbox", { name: "Folders" }).fill("/home/ann\n");
  await page.keyboard.press("Control+Enter");
  await dialog(page)
    .getByText(/home folder/)
    .first()
    .waitFor();
  await dialog(page)
    .getByText(/cannot be opened/)
    .waitFor();
  await dialog(page).getByRole("textbox", { name: "Folders" }).fill("/srv/app\n/srv/lib/");
  await page.keyboard.press("Control+Enter");
  await toasts(page).getByText("The folders of fresh-bot were saved.").waitFor();
  await page
    .getByRole("row", { name: /fresh-bot/ })
    .getByText("/srv/lib", { exact: true })
    .waitFor();
  const agents = (await server.admin.get("/v1/agents")).items;
  assert.deepEqual(agents.find(({ name }) => name === "fresh-bot")?.roots, ["/srv/app", "/srv/lib"]);

  const row = page.getByRole("row", { name: /fresh-bot/ }).filter({ hasText: "/srv/lib" });
  await row.getByText("unknown", { exact: true }).waitFor();
  const part = (name, status, why) => ({ name, kind: "tool", agent: "desk", status, why });
  const reported = await fetch(`${server.url}/v1/coverage`, {
    method: "PUT",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      framework: "google-adk",
      agent: "desk",
      parts: [
        part("refund", "gated", "each call asks before it runs"),
        part("<b>search</b>", "uncovered", "the provider runs it"),
      ],
    }),
  });
  assert.equal(reported.status, 200);
  await page.reload();
  await row.getByText("1 out of sight").waitFor();
  await row.getByRole("button", { name: "Coverage: fresh-bot" }).click();
  await dialog(page).getByText("the provider runs it").waitFor();
  await dialog(page).getByText("<b>search</b>", { exact: true }).waitFor();
  await dialog(page).getByRole("button", { name: "Forget it" }).click();
  await toasts(page).getByText("What fresh-bot reported was forgotten.").waitFor();
  await row.getByText("unknown", { exact: true }).waitFor();

  await page.getByRole("button", { name: /^Revoke: fresh-bot/ }).click();
  await dialog(page).getByRole("button", { name: "Revoke" }).click();
  await toasts(page).getByText("The key was revoked.").waitFor();
  await page.getByRole("button", { name: "Remove: carl" }).click();
  await dialog(page).getByRole("button", { name: "Remove" }).click();
  await toasts(page).getByText("carl was removed.").waitFor();
  clean(seen);
  await context.close();
});

test("people: on a phone nothing is scrolled sideways, and every action is in reach", async () => {
  const { context, page } = await signedIn(browser, server, "ann", { phone: true });
  await page.goto(`${server.url}/people`);
  await page.getByRole("button", { name: "Sign-in link: bob" }).waitFor();
  await page
    .getByRole("button", { name: /^Folders: / })
    .first()
    .waitFor();
  const tables = await page.evaluate(() =>
    [...document.querySelectorAll("table")].map((table) => ({
      wide: table.parentElement.scrollWidth - table.parentElement.clientWidth,
      out: [...table.querySelectorAll("button")].filter((button) => {
        const { left, right } = button.getBoundingClientRect();
        return left < 0 || right > window.innerWidth;
      }).length,
    })),
  );
  assert.deepEqual(tables, [
    { wide: 0, out: 0 },
    { wide: 0, out: 0 },
    { wide: 0, out: 0 },
  ]);
  await page.getByRole("button", { name: "Edit: bob" }).click();
  await dialog(page)
    .getByRole("heading", { name: /Change bob|bob/ })
    .waitFor();
  await context.close();
});

test("people: whoever is no admin manages nothing", async () => {
  const { context, page } = await signedIn(browser, server, "bob");
  await page.goto(`${server.url}/people`);
  await page.getByText("Only admins manage people and keys").waitFor();
  await context.close();
});

test("settings: a password is set, other sessions are seen and ended, colours are chosen", async () => {
  const { context, page, seen } = await asAnn();
  const other = await asAnn();
  await page.goto(`${server.url}/settings`);
  await page.getByLabel("New password", { exact: true }).fill("short");
  await page.getByLabel("New password again").fill("short");
  await page.getByRole("button", { name: "Save password" }).click();
  await page.getByRole("alert").filter({ hasText: "At least 12 characters" }).waitFor();
  const password = "three quiet green owls";
  await page.getByLabel("New password", { exact: true }).fill(password);
  await page.getByLabel("New password again").fill(password);
  await page.getByRole("button", { name: "Save password" }).click();
  await toasts(page)
    .getByText(/password was saved/)
    .waitFor();
  assert.equal((await who(other.page)).status, 401, "the other session lives on");

  // Sign in with it, elsewhere: wrong first.
  const elsewhere = await browser.newContext();
  const door = await elsewhere.newPage();
  await door.goto(`${server.url}/queue`);
  await door.getByLabel("Name").fill("ann");
  await door.getByLabel("Password", { exact: true }).first().fill("not the password");
  await door.keyboard.press("Enter");
  await door.getByText("The name or the password is wrong.").waitFor();
  await door.getByLabel("Password", { exact: true }).first().fill(password);
  await door.keyboard.press("Enter");
  await door.getByRole("navigation").first().waitFor();
  assert.match(door.url(), /\/queue/);

  await page.reload();
  await page.getByText("this one").waitFor();
  const end = page.getByRole("button", { name: /^End:/ });
  assert.equal(await end.count(), 1);
  await end.click();
  await toasts(page).getByText("That session has ended.").waitFor();
  assert.equal((await who(door)).status, 401);

  await page.getByRole("radio", { name: "Dark" }).check({ force: true });
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  await page.reload();
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  await page.getByRole("button", { name: "Sign out" }).first().click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  assert.deepEqual(seen.foreign, []);
  await elsewhere.close();
  await other.context.close();
  await context.close();
});

test("every page is reached and left by keyboard alone", async () => {
  const { context, page } = await asAnn();
  await page.goto(`${server.url}/queue`);
  await page.getByRole("navigation").first().waitFor();
  await quiet(page);
  for (const [keys, path] of [
    ["gh", "/history"],
    ["gl", "/ledger"],
    ["gp", "/policy"],
    ["gi", "/insights"],
    ["ge", "/people"],
    ["gs", "/settings"],
    ["gq", "/queue"],
  ]) {
    // Both at once: the page takes them for one sequence within 900 ms, and a busy machine answers the first one later.
    await Promise.all([...keys].map((key) => page.keyboard.press(key)));
    await page.waitForURL((url) => url.pathname === path);
    await quiet(page);
  }
  // The help opens and closes, and Tab goes through the page without a trap.
  await page.keyboard.press("?");
  await dialog(page).waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  await page.goto(`${server.url}/people`);
  await tabTo(page, page.getByRole("button", { name: "Add a person" }));
  await page.keyboard.press("Enter");
  await dialog(page).waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  await context.close();
});
