// Programs that open every link they are sent (mail scanners, previews, headless browsers) change nothing.
import assert from "node:assert/strict";
import { ask, confirmation, low, plan, previews, questions } from "../lib/ask.mjs";
import { launch, signedIn, signIn, wentOn, who } from "../lib/browser.mjs";
import { after, before, test } from "../lib/limited.mjs";
import { Server } from "../lib/server.mjs";

let server;
let browser;
let records;

before(async () => {
  server = await Server.start();
  await server.person("ann", ["reviewer", "admin"]);
  await server.person("zoe");
  browser = await launch();
  const bot = await server.agent();
  records = [];
  for (const body of [low(), previews.shell(), plan(), confirmation(), questions.text()])
    records.push(await ask(bot, body));
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

async function entries() {
  const auditor = await server.as("auditor", "olaf");
  const { items } = await auditor.get("/v1/ledger?limit=1000");
  return items.at(-1).seq;
}

async function allPending() {
  const rita = await server.reviewer();
  for (const { id, version } of records) {
    const record = await rita.get(`/v1/requests/${id}`);
    assert.equal(record.state, "pending", id);
    assert.equal(record.version, version, id);
  }
}

const pages = () => [
  "/",
  "/queue",
  "/history",
  "/ledger",
  "/policy",
  "/insights",
  "/people",
  "/settings",
  "/sign-in",
  ...records.map(({ url }) => url),
];

test("GET and HEAD of every link, with and without a cookie, change nothing", async () => {
  await server.reviewer();
  const link = await server.link("zoe");
  const { context, page } = await signedIn(browser, server, "ann");
  const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
  assert.match(cookie, /^__Host-/);
  const before_ = await entries();
  const paths = pages();
  for (const { url } of records)
    paths.push(`${url}/decision`, `${url}?decision=approve`, `${url}/decision?decision=approve&csrf=x`);
  for (const { id } of records)
    paths.push(`/v1/requests/${id}/decision`, `/v1/requests/${id}/claim`, `/v1/requests/${id}/cancel`);
  for (const path of [...paths, new URL(link).pathname]) {
    for (const method of ["GET", "HEAD"]) {
      for (const headers of [{}, { cookie }, { cookie, "x-purpose": "preview", purpose: "prefetch" }]) {
        const answer = await fetch(server.url + path, { method, headers, redirect: "manual" });
        await answer.arrayBuffer();
        assert.ok(answer.status < 500, `${method} ${path}: ${answer.status}`);
      }
    }
  }
  assert.equal(await entries(), before_, "a GET or HEAD changed something");
  await allPending();
  // The link was opened six times and still signs in, once.
  const fresh = await (await browser.newContext()).newPage();
  await fresh.goto(link);
  await fresh
    .getByRole("button", { name: /sign in|continue/i })
    .first()
    .click();
  await fresh.waitForURL((url) => !url.pathname.startsWith("/sign-in"));
  assert.equal((await who(fresh)).body.name, "zoe");
  await fresh.context().close();
  await page.close();
  await context.close();
});

test("a headless browser that opens every link and follows every link on it changes nothing", async () => {
  const link = await server.link("zoe");
  const bystander = await browser.newContext();
  const { context: reviewer } = await signedIn(browser, server, "ann");
  const before_ = await entries();
  for (const context of [bystander, reviewer]) {
    const seen = new Set();
    const open = [...pages(), ...(context === bystander ? [new URL(link).pathname] : [])];
    while (open.length > 0 && seen.size < 60) {
      const path = open.shift();
      if (seen.has(path)) continue;
      seen.add(path);
      const page = await context.newPage();
      // Exports are files: there is no page to look at.
      const answer = await page.goto(server.url + path, { waitUntil: "load" }).catch(() => null);
      if (path.startsWith("/r/")) await wentOn(page, server);
      // The dashboard writes its links, or its sign-in, after it has loaded.
      if (answer?.headers()["content-type"]?.startsWith("text/html"))
        await page.locator("a[href], form, h1").first().waitFor();
      // A scanner reads, scrolls and hovers.
      await page.mouse.wheel(0, 2000);
      const links = await page
        .evaluate(() => [...document.querySelectorAll("a[href]")].map((each) => each.href))
        .catch(() => []);
      for (const each of links) {
        const url = new URL(each);
        if (url.origin === server.url) open.push(url.pathname + url.search);
      }
      await page.close();
    }
    assert.ok(seen.size >= pages().length);
  }
  assert.equal(await entries(), before_, "opening links changed something");
  await allPending();
  const fresh = await (await browser.newContext()).newPage();
  await fresh.goto(link);
  await fresh
    .getByRole("button", { name: /sign in|continue/i })
    .first()
    .click();
  await fresh.waitForURL((url) => !url.pathname.startsWith("/sign-in"));
  await fresh.context().close();
  await bystander.close();
  await reviewer.close();
});

test("a link signs in exactly once", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const link = await server.link("ann");
  const token = new URL(link).pathname.split("/").at(-1);
  const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
  const { x, y } = await crypto.subtle.exportKey("jwk", pair.publicKey);
  const first = await fetch(`${server.url}/v1/session/link`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: server.url },
    body: JSON.stringify({ token, key: { x, y } }),
  });
  assert.equal(first.status, 200);
  const second = await fetch(`${server.url}/v1/session/link`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: server.url },
    body: JSON.stringify({ token, key: { x, y } }),
  });
  assert.equal(second.status, 401);
  await signIn(page, server, "ann");
  await context.close();
});
