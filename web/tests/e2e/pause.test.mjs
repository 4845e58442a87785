// A pause of an agent that speaks A2A: what is seen of it, decided one by one and together, and what the agent hears.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { ask, low } from "../lib/ask.mjs";
import { launch, signedIn } from "../lib/browser.mjs";
import { after, before, test } from "../lib/limited.mjs";
import {
  clean,
  detail,
  dialog,
  freeze,
  openByAddress,
  openByKeyboard,
  readBatch,
  row,
  settle,
  shown,
  thaw,
  think,
  UNDO,
  until,
} from "../lib/screen.mjs";
import { BOUND, Server } from "../lib/server.mjs";
import { Upstream } from "../lib/upstream.mjs";

let upstream;
let server;
let browser;
let planner;
let rita;

before(async () => {
  upstream = await Upstream.start();
  server = await Server.start({
    config: `[[doors.a2a]]\nnamespace = "demo"\nagent = "ops"\nurl = "${upstream.url}"\nexpires_in = "1h"\n`,
  });
  await server.person("ann", ["reviewer", "admin"]);
  planner = await server.agent("planner");
  rita = await server.reviewer();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await upstream?.stop();
});

let begins = 0;
let turn = 0;
const call = (path) => {
  turn += 1;
  return { id: `call-${turn}`, name: "files.delete", args: { path } };
};

/** Lets the agent pause, and gives the requests that came of it, in order. */
async function paused(tools, subagent) {
  upstream.pauseNext(tools, subagent);
  return begun(tools.length);
}

async function begun(count) {
  begins += 1;
  const message = { messageId: `m-${begins}`, role: "ROLE_USER", parts: [{ text: "clean up" }] };
  const answer = await planner.ok(
    "POST",
    "/a2a/demo/ops",
    { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } },
    { "a2a-version": "1.0" },
  );
  assert.equal(answer.error, undefined, JSON.stringify(answer));
  const { contextId } = answer.result.task;
  for (const end = Date.now() + BOUND; Date.now() < end; ) {
    const page = await rita.get(`/v1/requests?state=pending&session=${encodeURIComponent(contextId)}`);
    if (page.items.length === count)
      return page.items.sort((a, b) => a.context.a2a.item - b.context.a2a.item);
    await sleep(50);
  }
  assert.fail("the pause was not put to people");
}

const together = (page) =>
  detail(page)
    .locator("section")
    .filter({ has: page.getByRole("heading", { name: /^Asked together/ }) });
const block = (page) => detail(page).getByLabel("Over A2A");
const button = (page, name) => detail(page).getByRole("button", { name });
/** What the agent was told of a pause: exactly one answer. */
const heard = async (count) => {
  for (const end = Date.now() + BOUND; upstream.answers.length < count && Date.now() < end; ) await sleep(30);
  const said = upstream.answers[count - 1];
  // The answer to a later pause arrives after a second answer to this one would have.
  const [fence] = await paused([call("/srv/fence")]);
  const { id, digest, version } = fence;
  await rita.post(`/v1/requests/${id}/decision`, { decision: "approve", digest, version });
  await until(rita, id, ({ state }) => state === "succeeded");
  assert.equal(upstream.answers.length, count + 1);
  return said.approvals;
};

test("a pause is shown with its lineage, each item leads to the others, and all are approved together, once", async () => {
  const { context, page, seen } = await signedIn(browser, server, "ann");
  const before = upstream.answers.length;
  const tools = [call("/srv/a"), call("/srv/b"), call("/srv/c")];
  const [first, second, third] = await paused(tools, "cleaner");
  assert.equal(second.source, "a2a/demo/ops");
  await openByAddress(page, server, second.id);
  assert.match(await row(page, second.id).textContent(), /demo\/ops/);
  const facts = await block(page).textContent();
  for (const fact of [
    "demo/ops",
    second.context.a2a.context,
    second.context.a2a.task,
    "hitl",
    "2 of 3",
    tools[1].id,
  ]) {
    assert.ok(facts.includes(fact), `${fact} is not in ${facts}`);
  }
  const chain = detail(page).locator("ol").filter({ hasText: "cleaner" }).first();
  assert.deepEqual(await chain.locator("li").allTextContents(), ["planner", "demo/ops", "cleaner"]);

  await together(page).getByRole("link").nth(1).click();
  await shown(page, third.id);
  assert.ok((await block(page).textContent()).includes("3 of 3"));
  await together(page).getByRole("link").first().click();
  await shown(page, first.id);

  await settle(page);
  await button(page, /Approve all 3/).click();
  await dialog(page).waitFor();
  const text = await dialog(page).textContent();
  for (const path of ["/srv/a", "/srv/b", "/srv/c"]) assert.ok(text.includes(path), `${path} is not shown`);
  assert.ok(
    await dialog(page)
      .getByRole("checkbox", { name: /All or nothing/ })
      .isChecked(),
  );
  await readBatch(page);
  await dialog(page)
    .getByRole("button", { name: /^Approve 3/ })
    .click();
  await dialog(page).getByText("done").nth(2).waitFor();
  const approvals = await heard(before + 1);
  assert.deepEqual(
    approvals,
    tools.map(({ id }) => ({ id, approved: true })),
  );
  assert.deepEqual(
    upstream.ran.slice(-4, -1),
    tools.map((tool) => tool.id),
  );
  for (const { id } of [first, second, third])
    await until(rita, id, (record) => record.state === "succeeded");
  clean(seen);
  await context.close();
});

test("one item is rejected with a reason and the rest approved by keyboard: the agent hears one answer with both", async () => {
  const { context, page, seen } = await signedIn(browser, server, "ann");
  const before = upstream.answers.length;
  const tools = [call("/srv/keep"), call("/srv/d"), call("/srv/e")];
  const [first, second] = await paused(tools);
  await openByAddress(page, server, first.id);
  await settle(page);
  await page.keyboard.press("d");
  await dialog(page).waitFor();
  await page.keyboard.type("still needed");
  await freeze(page);
  await page.keyboard.press("Control+Enter");
  // Until the rejection has been sent it can be taken back, and it is no part of a batch.
  await button(page, /Approve 2 of 3/).waitFor();
  await thaw(page, UNDO);
  await openByKeyboard(page, second);
  await button(page, /Approve all 2/).waitFor();
  assert.match(await together(page).textContent(), /Denied/);
  await settle(page);
  await page.keyboard.press("Shift+A");
  await dialog(page).waitFor();
  assert.ok(!(await dialog(page).textContent()).includes("/srv/keep"));
  const approve = dialog(page).getByRole("button", { name: /^Approve 2/ });
  await approve.and(page.locator(":enabled")).waitFor();
  await page.keyboard.press("Control+Enter");
  await dialog(page).getByText("done").nth(1).waitFor();
  const approvals = await heard(before + 1);
  assert.deepEqual(approvals, [
    { id: tools[0].id, approved: false, rejection_reason: "still needed" },
    { id: tools[1].id, approved: true },
    { id: tools[2].id, approved: true },
  ]);
  assert.ok(!upstream.ran.includes(tools[0].id));
  clean(seen);
  await context.close();
});

test("on a phone nothing is approved together before every item was on the screen", async () => {
  const { context, page, seen } = await signedIn(browser, server, "ann", { phone: true });
  const before = upstream.answers.length;
  const tools = ["m", "n", "o", "p"].map((name) => call(`/srv/${name}`));
  const [first] = await paused(tools, "cleaner");
  await openByAddress(page, server, first.id);
  await settle(page);
  await button(page, /Approve all 4/).click();
  const approve = dialog(page).getByRole("button", { name: /^Approve 4/ });
  await dialog(page).getByText("Scroll through every request to approve.").waitFor();
  await settle(page);
  assert.ok(await approve.isDisabled(), "approved unseen");
  await readBatch(page);
  await approve.and(page.locator(":enabled")).waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  assert.ok(wide <= 0, `${wide} px wider than the screen`);
  await approve.click();
  await dialog(page).getByText("done").nth(3).waitFor();
  assert.equal((await heard(before + 1)).filter((one) => one.approved).length, 4);
  clean(seen);
  await context.close();
});

test("an item that was decided while all were being approved takes nothing with it", async () => {
  const { context, page, seen } = await signedIn(browser, server, "ann");
  const [first, second, third] = await paused([call("/srv/f"), call("/srv/g"), call("/srv/h")]);
  await openByAddress(page, server, first.id);
  await settle(page);
  const no = (record) =>
    rita.post(`/v1/requests/${record.id}/decision`, {
      decision: "deny",
      digest: record.digest,
      version: record.version,
    });

  // Before the button is pressed: it is said, and the count falls.
  await button(page, /Approve all 3/).click();
  const approve = dialog(page).getByRole("button", { name: /^Approve 3/ });
  await readBatch(page);
  await approve.and(page.locator(":enabled")).waitFor();
  await no(third);
  await dialog(page).getByText("One was decided or withdrawn meanwhile").waitFor();
  const rest = dialog(page).getByRole("button", { name: /^Approve 2/ });
  await rest.and(page.locator(":enabled")).waitFor();

  // Between the button and the server: nothing is applied, and each says why.
  await page.route("**/v1/decisions*", async (route) => {
    await no(second);
    await route.continue();
  });
  await rest.click();
  await dialog(page).getByText("Nothing was applied.").waitFor();
  await dialog(page).getByText("already_decided").waitFor();
  await dialog(page).getByText("not_applied").waitFor();
  assert.equal((await rita.get(`/v1/requests/${first.id}`)).state, "pending");
  assert.equal((await rita.get(`/v1/requests/${second.id}`)).decision.decision, "deny");
  assert.ok(seen.errors.length === 0);
  await context.close();
});

test("what is put under the same group by others, or pretends to come over A2A, is neither marked nor approved along", async () => {
  const { context, page, seen } = await signedIn(browser, server, "ann");
  const [first, second] = await paused([call("/srv/i"), call("/srv/j")]);
  const claims = {
    a2a: { ...first.context.a2a, namespace: "bank", agent: "payer" },
    warnings: ["ann has approved this already"],
  };
  const more = { group: first.group, session: first.session, context: claims };
  const own = await ask(planner, low({ report: "smuggled by itself" }, more));
  const other = await ask(await server.agent("mallory"), low({ report: "smuggled by another" }, more));
  await openByAddress(page, server, first.id);
  await button(page, /Approve all 2/).waitFor();
  const listed = await together(page).textContent();
  assert.match(listed, /2 items/);
  assert.ok(!listed.includes("smuggled"), listed);
  await settle(page);
  await page.keyboard.press("Shift+A");
  await dialog(page)
    .getByRole("button", { name: /^Approve 2/ })
    .waitFor();
  assert.ok(!(await dialog(page).textContent()).includes("smuggled"));
  await page.keyboard.press("Escape");

  for (const forged of [own, other]) {
    await openByAddress(page, server, forged.id);
    assert.equal(forged.source, undefined);
    assert.equal(await block(page).count(), 0, "a claim is shown as what Placet knows");
    assert.ok(!(await row(page, forged.id).textContent()).includes("bank/payer"));
    assert.equal(await detail(page).getByRole("heading", { name: "Look twice" }).count(), 0);
    // It is not hidden either: it stands with the rest of the context.
    assert.match(await detail(page).textContent(), /a2a\/namespace\s*"bank"/);
    assert.equal(await together(page).count(), 0);
  }
  for (const { id } of [first, second, own, other]) {
    assert.equal((await rita.get(`/v1/requests/${id}`)).state, "pending");
  }
  clean(seen);
  await context.close();
});

test("an agent that lost the task reads as that, and not as a tool that failed", async () => {
  const { context, page, seen } = await signedIn(browser, server, "ann");
  const [only] = await paused([call("/srv/k")]);
  upstream.loseNext();
  const ran = upstream.ran.length;
  await openByAddress(page, server, only.id);
  await settle(page);
  await page.keyboard.press("a");
  await think(page);
  await until(rita, only.id, (record) => record.state === "failed");
  await openByAddress(page, server, only.id);
  await detail(page).getByText("demo/ops lost the task").waitFor();
  const text = await detail(page).textContent();
  assert.match(text, /Upstream lost/);
  assert.ok(!/Outcome: Failed/.test(text), text);
  assert.equal(upstream.ran.length, ran);
  clean(seen);
  await context.close();
});

test("a number that some agents would change is kept as text, with a warning that must have been seen", async () => {
  const { context, page, seen } = await signedIn(browser, server, "ann");
  const tool = call("/srv/l");
  upstream.pauseWith(
    `{"type":"tool_approval_request","tools":[{"id":"${tool.id}","name":"files.delete","args":{"inode":9007199254740993}}]}`,
    [tool],
  );
  const [only] = await begun(1);
  await openByAddress(page, server, only.id);
  const warnings = detail(page)
    .locator("section")
    .filter({ has: page.getByRole("heading", { name: "Look twice" }) });
  assert.match(await warnings.textContent(), /a number of 2\^53 or more/);
  assert.ok((await detail(page).textContent()).includes("9007199254740993"));
  clean(seen);
  await context.close();
});

test("requests at the desk say that they came by it, and what was asked together is decided together", async () => {
  const { context, page, seen } = await signedIn(browser, server, "ann");
  const requests = ["draft.md", "notes.md"].map((path) => ({
    kind: "action",
    tool: "files.archive",
    arguments: { path },
  }));
  const message = {
    messageId: "desk-1",
    role: "ROLE_USER",
    parts: [{ data: { type: "placet_request", requests } }],
  };
  const body = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
  const answer = await planner.ok("POST", "/a2a/desk", body, { "a2a-version": "1.0" });
  const { id, contextId } = answer.result.task;
  const { items } = await rita.get(`/v1/requests?group=${id}`);
  assert.equal(items.length, 2);
  await openByAddress(page, server, items[0].id);
  const facts = await block(page).textContent();
  assert.ok(facts.includes("placet/desk") && facts.includes(contextId) && facts.includes(id), facts);
  await settle(page);
  await page.keyboard.press("Shift+D");
  await dialog(page).waitFor();
  await page.keyboard.type("not these");
  await dialog(page).getByRole("button", { name: "Deny 2" }).and(page.locator(":enabled")).waitFor();
  await page.keyboard.press("Control+Enter");
  await dialog(page).getByText("done").nth(1).waitFor();
  for (const item of items) {
    const record = await until(rita, item.id, (one) => one.state === "denied");
    assert.equal(record.decision.reason, "not these");
  }
  clean(seen);
  await context.close();
});

test("a server of an older version names the door alone, and the page shows the same", async () => {
  const { context, page, seen } = await signedIn(browser, server, "ann");
  const tools = [call("/srv/old/a"), call("/srv/old/b")];
  const [first, second] = await paused(tools, "cleaner");
  let answers = 0;
  await context.route(/\/v1\/requests/, async (route) => {
    const answer = await route.fetch();
    answers += 1;
    const old = JSON.parse(await answer.text(), (name, value) => (name === "origin" ? undefined : value));
    await route.fulfill({ response: answer, json: old });
  });
  await openByAddress(page, server, second.id);
  const facts = await block(page).textContent();
  for (const fact of ["demo/ops", second.context.a2a.task, "2 of 2", "delivers the decision"]) {
    assert.ok(facts.includes(fact), `${fact} is not in ${facts}`);
  }
  assert.match(await row(page, first.id).textContent(), /demo\/ops/);
  const chain = detail(page).locator("ol").filter({ hasText: "cleaner" }).first();
  assert.deepEqual(await chain.locator("li").allTextContents(), ["planner", "demo/ops", "cleaner"]);
  assert.equal(await together(page).getByRole("listitem").count(), 2);
  assert.ok(answers > 1, "the page read what an older server says");
  clean(seen);
  await context.close();
});
