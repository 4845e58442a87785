// Cookies know no ports: whatever listens beside Placet on this machine is sent the session's cookie as soon as the person
// opens it. With that alone nothing can be read and nothing changes.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { ask, low } from "../lib/ask.mjs";
import { asPage, launch, signedIn, who } from "../lib/browser.mjs";
import { after, before, test } from "../lib/limited.mjs";
import { Server } from "../lib/server.mjs";

let server;
let browser;
let thief;
/** Every cookie that the thief was sent. */
const cookies = [];

/** Listens on the next port, or on any. */
async function beside(url) {
  const listen = (port) =>
    new Promise((done, fail) => {
      const made = createServer((call, answer) => {
        if (call.headers.cookie) cookies.push(call.headers.cookie);
        answer.writeHead(200, { "content-type": "text/html" });
        answer.end("<!doctype html><title>a nice page</title>");
      });
      made.once("error", fail);
      made.listen(port, "127.0.0.1", () => done(made));
    });
  return await listen(Number(new URL(url).port) + 1).catch(() => listen(0));
}

before(async () => {
  server = await Server.start();
  await server.person("ann", ["reviewer", "admin", "auditor"]);
  browser = await launch();
  thief = await beside(server.url);
});
after(async () => {
  await browser?.close();
  thief?.close();
  await server?.stop();
});

async function head() {
  const auditor = await server.as("auditor", "olaf");
  return (await auditor.get("/v1/ledger/status")).head;
}

/** Every operation of the server's own document, with something in place of its parameters. */
async function routes(record, session) {
  const { paths } = await (await fetch(`${server.url}/openapi.json`)).json();
  return Object.entries(paths).flatMap(([path, operations]) => {
    const filled = path
      .replace("/requests/{id}", `/requests/${record.id}`)
      .replace("/sessions/{id}", `/sessions/${session}`)
      .replace("{name}", "ann")
      .replace(/\{[a-z]+\}/, "0");
    return Object.keys(operations).map((method) => [method.toUpperCase(), filled]);
  });
}

/** What anybody may call. */
const OPEN = ["/healthz", "/readyz", "/metrics", "/openapi.json"];
const SIGN_IN = ["POST /v1/session", "POST /v1/session/link"];

test("a server on another port gets the cookie, and can do nothing with it", async () => {
  const bot = await server.agent();
  const record = await ask(bot, low());
  const { context, page } = await signedIn(browser, server, "ann");
  const me = (await who(page)).body;
  const tab = await context.newPage();
  await tab.goto(`http://127.0.0.1:${thief.address().port}/`);
  const cookie = cookies.at(-1);
  assert.match(cookie ?? "", /__Host-placet=/, "browsers send it to every port");
  // What the other port's own page can reach in this browser.
  const there = await tab.evaluate(async () => ({
    databases: (await indexedDB.databases()).map(({ name }) => name),
    stored: Object.keys(localStorage),
  }));
  assert.deepEqual(there, { databases: [], stored: [] }, "the key is on another origin");

  const before_ = await head();
  const { digest, version, view } = (await asPage(page, "GET", `/v1/requests/${record.id}`)).body;
  const decision = JSON.stringify({ decision: "approve", digest, version, view: view.digest });
  // A program writes whatever headers it likes.
  const forged = {
    cookie,
    origin: server.url,
    "sec-fetch-site": "same-origin",
    "content-type": "application/json",
  };
  const leaks = [];
  let calls = 0;
  for (const [method, path] of await routes(record, me.session.id)) {
    if (OPEN.includes(path) || SIGN_IN.includes(`${method} ${path}`)) continue;
    for (const headers of [forged, { ...forged, "placet-csrf": me.csrf }]) {
      const body = method === "GET" ? undefined : path.endsWith("/decision") ? decision : "{}";
      const answer = await fetch(server.url + path, { method, headers, body, redirect: "manual" });
      const said = await answer.text();
      calls += 1;
      if (path === "/v1/session" && method === "GET") {
        assert.deepEqual(Object.keys(JSON.parse(said)).sort(), ["bound", "nonce"]);
      } else if (answer.status !== 401 || JSON.parse(said).code !== "proof_needed") {
        leaks.push(`${method} ${path}: ${answer.status} ${said.slice(0, 80)}`);
      }
    }
  }
  assert.ok(calls > 80, `${calls} calls`);
  assert.deepEqual(leaks, []);
  for (const path of [`/r/${record.id}`, "/queue", "/", "/history", "/people"]) {
    const said = await (await fetch(server.url + path, { headers: { cookie } })).text();
    assert.ok(!said.includes(record.tool) && !said.includes("ann"), `${path} says something`);
  }
  for (const path of ["/events/recent", "/approvals/pending", "/stream"]) {
    const answer = await fetch(server.url + path, { headers: forged });
    assert.ok(answer.status >= 400, `${path}: ${answer.status}`);
  }
  assert.equal(await head(), before_, "nothing happened");
  // The person goes on as before, in the very same session.
  const decided = await asPage(page, "POST", `/v1/requests/${record.id}/decision`, decision);
  assert.deepEqual([decided.status, decided.body.votes?.[0].auth], [200, "bound"]);
  await context.close();
});

test("the key cannot be taken out of the browser", async () => {
  const { context, page } = await signedIn(browser, server, "ann");
  const tried = await page.evaluate(async () => {
    const kept = await new Promise((done) => {
      const opening = indexedDB.open("placet", 1);
      opening.onsuccess = () => {
        const reading = opening.result.transaction("session").objectStore("session").get("current");
        reading.onsuccess = () => done(reading.result);
      };
    });
    const out = { extractable: kept.key.extractable, usages: kept.key.usages, formats: [] };
    for (const format of ["jwk", "pkcs8", "raw"]) {
      const result = crypto.subtle.exportKey(format, kept.key);
      out.formats.push(
        await result.then(
          () => "exported",
          (error) => error.name,
        ),
      );
    }
    return out;
  });
  assert.equal(tried.extractable, false);
  assert.deepEqual(tried.usages, ["sign"]);
  assert.ok(!tried.formats.includes("exported"), `${tried.formats}`);
  await context.close();
});

test("two tabs share the session; another person in one tab is that person in the other", async () => {
  const { context, page } = await signedIn(browser, server, "ann");
  await server.person("ben", ["reviewer", "admin"]);
  const other = await context.newPage();
  await other.goto(`${server.url}/history`);
  await other.getByRole("heading", { name: "History" }).waitFor();
  await page.goto(await server.link("ben"));
  await page
    .getByRole("button", { name: /sign in/i })
    .first()
    .click();
  await page.waitForURL((url) => !url.pathname.startsWith("/sign-in"));
  // The other tab still holds the key of before; it finds the new one by itself, and says whose it is.
  await other.getByRole("link", { name: "People" }).first().click();
  await other.getByRole("button", { name: "Add a person" }).waitFor();
  await other.goto(`${server.url}/settings`);
  await other.getByText("ben").first().waitFor();
  // Signing out in one tab is signing out in the other; signing in again brings both back.
  await page.goto(`${server.url}/queue`);
  await asPage(page, "DELETE", "/v1/session");
  await other.goto(`${server.url}/queue`);
  await other.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.goto(await server.link("ann"));
  await page
    .getByRole("button", { name: /sign in/i })
    .first()
    .click();
  await page.waitForURL((url) => !url.pathname.startsWith("/sign-in"));
  await other.getByRole("navigation").first().waitFor();
  await context.close();
});

test("where the browser keeps nothing, a link is not used up and the page says why", async () => {
  const context = await browser.newContext();
  await context.addInitScript(() => {
    IDBFactory.prototype.open = () => {
      throw new DOMException("no", "InvalidStateError");
    };
  });
  const page = await context.newPage();
  const link = await server.link("ann");
  await page.goto(link);
  await page
    .getByRole("button", { name: /sign in/i })
    .first()
    .click();
  await page
    .getByRole("alert")
    .filter({ hasText: /keeps nothing/ })
    .waitFor();
  await context.close();
  const good = await browser.newContext();
  const next = await good.newPage();
  await next.goto(link);
  await next
    .getByRole("button", { name: /sign in/i })
    .first()
    .click();
  await next.waitForURL((url) => !url.pathname.startsWith("/sign-in"));
  assert.equal((await who(next)).body.name, "ann");
  await good.close();
});

test("an export is downloaded with a ticket that works once", async () => {
  const bot = await server.agent();
  const record = await ask(bot, low());
  const { context, page } = await signedIn(browser, server, "ann");
  await page.goto(`${server.url}/history`);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export JSONL" }).click(),
  ]);
  const { readFile } = await import("node:fs/promises");
  assert.ok((await readFile(await download.path(), "utf8")).includes(record.id));
  assert.match(download.url(), /ticket=plt_/);
  const [cookie] = (await context.cookies()).map(({ name, value }) => `${name}=${value}`);
  const again = await fetch(download.url(), { headers: { cookie } });
  assert.equal(again.status, 401);
  await context.close();
});

test("a WebSocket of the page is opened with a ticket, and without one it is not", async () => {
  const { context, page } = await signedIn(browser, server, "ann");
  const { ticket } = (await asPage(page, "POST", "/v1/ws/ticket")).body;
  const open = async (protocols) =>
    await page.evaluate(
      (protocols) =>
        new Promise((done) => {
          const socket = new WebSocket(`${location.origin.replace("http", "ws")}/v1/ws`, protocols);
          socket.onopen = () => done(`open ${socket.protocol}`);
          socket.onerror = () => done("refused");
        }),
      protocols,
    );
  assert.equal(await open([]), "refused");
  assert.equal(await open(["placet", ticket]), "open placet");
  assert.equal(await open(["placet", ticket]), "refused");
  await context.close();
});
