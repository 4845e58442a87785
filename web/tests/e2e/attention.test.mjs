// How often people are asked: the page of one session, rules that history suggests, and the line about one's pace.
import assert from "node:assert/strict";
import { action, ask, askMany, low } from "../lib/ask.mjs";
import { launch, quiet, signedIn } from "../lib/browser.mjs";
import { after, before, test } from "../lib/limited.mjs";
import { clean, dialog, openByKeyboard, pass, think, toasts, until } from "../lib/screen.mjs";
import { BOUND, POLICY, Server } from "../lib/server.mjs";

const CONFINED = `
[[rule]]
name = "tests"
effect = "allow"
confine = "workspace"
tool = "run.*"
`;
/** What an agent calls its session, and what a reader sees of it: markup is text, and what reorders is drawn. */
const HOSTILE = `<b>night</b> \u202e"shift"<img src=x onerror=alert(1)>${"x".repeat(120)}`;
const DRAWN = HOSTILE.replace("\u202e", "\\u{202e}");
/** What each part is called on the page, in its order. */
const PARTS = [
  ["asked", "Asked"],
  ["remembered", "Remembered"],
  ["confined", "Confined"],
  ["refused", "Refused"],
  ["passed", "Passed"],
];

let server;
let browser;
let bot;
let rita;
/** A reviewer who is an admin, and one who is not: signed in once. Every test opens a page anew. */
let ann;
let bob;

before(async () => {
  server = await Server.start({ policy: POLICY + CONFINED });
  await server.person("ann", ["reviewer", "admin"]);
  await server.person("bob");
  bot = await server.agent();
  rita = await server.reviewer();
  browser = await launch();
  [ann, bob] = await Promise.all(["ann", "bob"].map((name) => signedIn(browser, server, name)));
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const decide = (record, decision, more = {}) =>
  rita.post(`/v1/requests/${record.id}/decision`, {
    decision,
    digest: record.digest,
    version: record.version,
    ...more,
  });

/** The texts of a table, row by row. */
async function rows(page, name) {
  const lines = page.getByRole("region", { name, exact: true }).locator("tbody tr");
  return await lines.evaluateAll((all) =>
    all.map((line) => [...line.cells].map((cell) => cell.textContent.trim())),
  );
}

/** Nothing that a stranger wrote has become an element, and nothing reorders what is read. */
async function onlyText(page) {
  assert.equal(await page.locator("main :is(b, i, img, script, iframe)").count(), 0, "markup took effect");
  const text = await page.locator("main").textContent();
  assert.doesNotMatch(text + (await page.title()), /[\u202a-\u202e\u2066-\u2069]/);
  const cut = await page
    .locator("h1")
    .evaluate((head) => head.getBoundingClientRect().right - window.innerWidth);
  assert.ok(cut <= 0, `${cut} px of the title are outside of the screen`);
}

const percent = (share) => `${share.toFixed(1)} %`;

async function openSession(page, query) {
  await page.goto(`${server.url}/session?${new URLSearchParams(query)}`);
  await page.locator("h1").waitFor();
  await quiet(page);
}

test("a session: its parts, how what was asked ended and what was remembered are those of the server", async () => {
  const session = HOSTILE;
  const sent = (tool, args, more = {}) => ask(bot, action(tool, args, { session, ...more }));
  await server.admin.ok("PUT", "/v1/agents/bot/confine", { confine: true });
  for (let turn = 0; turn < 3; turn += 1) await sent("free.read", { turn });
  const tests = action("run.tests", { suite: "<i>all</i>" }, { session, context: { confines: "workspace" } });
  const confined = await bot.ok("POST", "/v1/requests", tests, { "placet-door": "hook-program" });
  assert.equal(confined.verdict.confine, "workspace");
  const mail = { to: "<i>ann</i>\u202e<script>alert(1)</script>" };
  await decide(await sent("reports.mail", mail), "approve", {
    remember: { scope: "exact", expires_in: "8h", uses: 5 },
  });
  for (let turn = 0; turn < 2; turn += 1) assert.equal((await sent("reports.mail", mail)).state, "approved");
  await decide(await sent("reports.pay", { to: "ACME" }), "deny", { reason: "not today" });
  for (let turn = 0; turn < 2; turn += 1) await decide(await sent("reports.pay", { to: "ACME" }), "approve");
  const waiting = await sent("reports.wait", { n: 1 });
  await sent("never.format", { disk: "/dev/sda" });
  // A later one, which is not counted here.
  await ask(bot, low({}, { session: "later" }));

  const query = new URLSearchParams({ session });
  const summary = await rita.get(`/v1/summary?${query}`);
  const { attention } = summary;
  assert.deepEqual(
    PARTS.map(([part]) => attention[part]),
    [5, 2, 1, 1, 3],
  );
  const { page, seen } = ann;
  await openSession(page, { session });
  assert.equal(await page.locator("h1").textContent(), `Session ${DRAWN}, bot`);
  await onlyText(page);
  // Beside the two headline figures is the share of each part.
  for (const [figure, label] of [
    // There is no rate for less than a minute of activity.
    [attention.prompts_per_active_hour?.toFixed(1) ?? "–", "prompts per active hour"],
    [percent(attention.asked_percent), "of the calls ask"],
  ])
    assert.equal(await page.getByText(label).locator("..").textContent(), figure + label);
  assert.deepEqual(
    await rows(page, "How often people are asked"),
    PARTS.map(([part, name]) => [
      name,
      String(attention[part]),
      percent((100 * attention[part]) / attention.calls),
    ]),
  );
  for (const [part, name] of PARTS.filter(([part]) => part !== "passed")) {
    const lines = summary.lines.filter((line) => line.part === part);
    assert.deepEqual(
      (await rows(page, name)).map((cells) => cells.slice(0, 3)),
      lines.map((line) => [line.tool, line.effect, String(line.count)]),
    );
    const links = page.getByRole("region", { name, exact: true }).getByRole("link");
    assert.deepEqual(
      await links.evaluateAll((all) => all.map((link) => new URL(link.href).searchParams.get("id"))),
      lines.map((line) => line.request),
    );
  }
  const asked = (await rows(page, "Asked")).map(([tool, effect, count, outcome]) => [
    tool,
    effect,
    count,
    outcome,
  ]);
  assert.deepEqual(asked, [
    ["reports.pay", 'Call reports.pay with to "ACME"', "3", "2 approved, 1 denied"],
    [
      "reports.mail",
      'Call reports.mail with to "<i>ann</i>\\u{202e}<script>alert(1)</script>"',
      "1",
      "1 approved",
    ],
    ["reports.wait", "Call reports.wait with n 1", "1", "–"],
  ]);
  assert.equal((await rows(page, "Confined"))[0][1], 'Call run.tests with suite "<i>all</i>"');
  // What was read again by itself, without a reload.
  await decide(waiting, "deny");
  await pass(page, 30_000);
  await page
    .getByRole("row", { name: /^reports\.wait/ })
    .getByText("1 denied")
    .waitFor();

  const used = "Grants that were used";
  assert.deepEqual(
    (await rows(page, used)).map((cells) => cells.slice(0, 3)),
    [["reports.mail", "rita", "2 calls"]],
  );
  await page.keyboard.press("t");
  await toasts(page).getByText("The grant was revoked").waitFor();
  await page.getByRole("region", { name: used }).getByText("ended").waitFor();
  assert.equal((await sent("reports.mail", mail)).state, "pending");
  clean(seen);
});

test("a session is the one that the address names, whatever its name looks like; an unknown one is said to be unknown", async () => {
  const imp = await server.agent("imp");
  // The router of the page takes the first for a number and the second for an object.
  const names = ["1234567890123456789", '{"a": 1}'];
  for (const session of names) await ask(bot, low({}, { session }));
  await ask(imp, low({}, { session: names[0] }));
  await ask(imp, low({}, { session: "newest" }));
  const { page, seen } = bob;
  const title = async (query) => {
    await openSession(page, query);
    return await page.locator("h1").textContent();
  };
  assert.equal(await title({}), "Session newest, imp");
  assert.equal(await title({ session: names[1] }), `Session ${names[1]}, bot`);
  // Of two agents whose sessions have one name, the one that is named is meant.
  assert.equal(await title({ session: names[0], agent: "bot" }), `Session ${names[0]}, bot`);
  assert.equal(await title({ session: `un${HOSTILE}` }), "Session");
  await page.getByRole("heading", { name: "No such session" }).waitFor();
  assert.equal(await page.locator("main").getByRole("table").count(), 0);
  await onlyText(page);
  clean(seen);
});

const editor = (page) => page.getByRole("textbox", { name: "Policy text" });

test("what was approved again and again and never refused is suggested, and looking puts nothing in force", async () => {
  const session = "again";
  const sent = (tool, args) => ask(bot, action(tool, args, { session }));
  const times = async (count, tool, args, word) => {
    for (let turn = 0; turn < count; turn += 1) await decide(await sent(tool, args), word);
  };
  const again = { host: "<b>web-1</b>" };
  await times(4, "reports.restart", again, "approve");
  await times(2, "reports.twice", again, "approve");
  await times(5, "reports.refused", again, "approve");
  await times(1, "reports.refused", again, "deny");
  const inForce = await rita.get("/v1/policy");

  const changing = [];
  bob.page.on("request", (request) => {
    if (request.method() !== "GET") changing.push(`${request.method()} ${request.url()}`);
  });
  await bob.page.goto(`${server.url}/policy?tab=suggest`);
  await bob.page.getByRole("button", { name: "Add to the editor" }).waitFor();
  const { items, text, left_out: left } = await rita.get("/v1/policy/suggestions");
  assert.deepEqual([items.length, items[0].tool, items[0].saved, left.refused], [1, "reports.restart", 4, 1]);
  assert.deepEqual(await rows(bob.page, "Suggestions"), [
    ['Call reports.restart with host "<b>web-1</b>"', "bot", "4", "4"],
  ]);
  const rules = bob.page.getByRole("region", { name: "The rules" }).locator("pre");
  assert.equal((await rules.textContent()).trim(), text.trim());
  assert.match(text, /tool = "reports\.restart"/);
  await bob.page.getByText("1 left out: refused once").waitFor();
  await onlyText(bob.page);
  // Who is no admin can try it, and not put it.
  await bob.page.getByRole("button", { name: "Add to the editor" }).click();
  await bob.page.getByText("Valid").waitFor();
  assert.equal(await bob.page.getByRole("button", { name: "Put in force" }).count(), 0);
  const sentByLooking = changing.filter((each) => !each.endsWith("/v1/policy/check"));
  assert.deepEqual(sentByLooking, []);
  assert.deepEqual(await rita.get("/v1/policy"), inForce);
  assert.equal((await sent("reports.restart", again)).state, "pending");
  clean(bob.seen);

  // They are added to what is being written, once, and are gone from here when they are in force.
  await ann.page.goto(`${server.url}/policy?tab=edit`);
  await editor(ann.page).fill(`${inForce.text}\n# not yet finished\n`);
  for (let turn = 0; turn < 2; turn += 1) {
    await ann.page.getByRole("tab", { name: "Suggestions" }).click();
    await ann.page.getByRole("button", { name: "Add to the editor" }).click();
    assert.equal(
      await editor(ann.page).inputValue(),
      `${inForce.text}\n# not yet finished\n\n${text}`,
      "what was being written is kept",
    );
  }
  assert.equal((await rita.get("/v1/policy")).hash, inForce.hash);
  await ann.page.getByText("Valid").waitFor();
  await ann.page.getByRole("button", { name: "Put in force" }).click();
  await dialog(ann.page).getByRole("button", { name: "Put in force" }).click();
  await toasts(ann.page).getByText("The policy is in force.").waitFor();
  assert.equal((await sent("reports.restart", again)).state, "approved");
  assert.equal((await sent("reports.restart", { host: "web-2" })).state, "pending");
  await ann.page.getByRole("tab", { name: "Suggestions" }).click();
  await ann.page.getByText("Nothing to suggest").waitFor();
  clean(ann.seen);
});

const pace = (page) => page.getByTestId("pace");

/** Lets the page ask for the pace of its reviewer until it is answered what is known of it, and shows that. */
async function told(page, known) {
  for (const end = Date.now() + BOUND; ; ) {
    const answer = page.waitForResponse((response) => response.url().endsWith("/v1/me/pace"));
    await pass(page, 15_000);
    const said = await (await answer).json();
    if (said.approvals === known.approvals && said.denials === known.denials) break;
    assert.ok(Date.now() < end, JSON.stringify(said));
  }
  await quiet(page);
}

test("who approves faster than anybody reads is told so, alone, and goes on approving", async () => {
  // Not on the queue, which opens a request by itself: then it would be known how long that one was read.
  for (const { page } of [ann, bob]) {
    await page.goto(`${server.url}/people`);
    await page.locator("h1").waitFor();
    await quiet(page);
  }
  const requests = await askMany(bot, 46, (turn) => low({ turn }, { session: "fast" }));
  const next = (count, decision) =>
    requests.splice(0, count).map(({ id, digest, version }) => ({ id, digest, version, decision }));
  const counted = new Map();
  const voted = async (person, words) => {
    const api = await server.as("reviewer", person);
    await api.post("/v1/decisions?atomic=true", words);
    const before = counted.get(person) ?? 0;
    counted.set(person, before + words.length);
    // The server hears of votes by itself, soon after they were answered.
    for (const end = Date.now() + BOUND; ; ) {
      const said = await api.get("/v1/me/pace");
      if (said.approvals + said.denials === counted.get(person)) return said;
      assert.ok(Date.now() < end, `${JSON.stringify(said)}`);
    }
  };

  // Before the first one nothing was decided, so nobody knows how long that took: with twenty, nineteen were quick.
  const first = await voted("ann", next(20, "approve"));
  assert.deepEqual([first.limit, first.quick_seconds, first.window_seconds], [20, 3, 600]);
  assert.deepEqual([first.quick, first.warned], [19, false]);
  await told(ann.page, first);
  assert.equal(await pace(ann.page).count(), 0, "nineteen are not twenty");

  const warned = await voted("ann", next(2, "approve"));
  assert.ok(warned.warned && warned.quick >= 20, JSON.stringify(warned));
  // One no among as many, and it is no warning.
  const other = await voted("bob", [...next(22, "approve"), ...next(1, "deny")]);
  assert.deepEqual([other.warned, other.approvals, other.denials], [false, 22, 1]);
  assert.ok(other.quick >= other.limit, JSON.stringify(other));
  await told(ann.page, warned);
  assert.match(warned.text, new RegExp(`^You approved ${warned.quick} requests in the last 10 minutes`));
  assert.equal(await pace(ann.page).textContent(), `${warned.text}Suggested rules`);
  await told(bob.page, other);
  assert.equal(await pace(bob.page).count(), 0, "it is for ann alone");

  // It leads to what saves the prompts, and stays out of the way of the next approval.
  await pace(ann.page).getByRole("link", { name: "Suggested rules" }).click();
  await ann.page.getByRole("tab", { name: "Suggestions", selected: true }).waitFor();
  const [last] = requests;
  await openByKeyboard(ann.page, last);
  await pace(ann.page).waitFor();
  await ann.page.keyboard.press("a");
  await think(ann.page);
  const { decision } = await until(bot, last.id, ({ state }) => state === "approved");
  assert.deepEqual(decision.by, ["ann"]);
  clean(ann.seen);
  clean(bob.seen);
});
