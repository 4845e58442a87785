// A page of another origin, open in the browser of somebody who is signed in, changes nothing and learns nothing.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { ask, low } from "../lib/ask.mjs";
import { asPage, launch, signedIn, wentOn, who } from "../lib/browser.mjs";
import { after, before, test } from "../lib/limited.mjs";
import { Server } from "../lib/server.mjs";

let server;
let browser;
let evil;
let evilPort;
let page = "";

before(async () => {
  server = await Server.start();
  await server.person("ann", ["reviewer", "admin"]);
  browser = await launch();
  evil = createServer((_, answer) => {
    answer.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    answer.end(page);
  });
  await new Promise((done) => evil.listen(0, "0.0.0.0", done));
  evilPort = evil.address().port;
});
after(async () => {
  await browser?.close();
  evil?.close();
  await server?.stop();
});

/** Everything that ever changed is in the ledger. */
async function entries() {
  const auditor = await server.as("auditor", "olaf");
  let after_ = 0;
  for (;;) {
    const { items, next_after } = await auditor.get(`/v1/ledger?after=${after_}&limit=1000`);
    after_ = items.at(-1)?.seq ?? after_;
    if (next_after === null || next_after === undefined) return after_;
  }
}

/** Waits until the server has answered a call of this kind, or the browser has refused it. */
function answered(page, kind) {
  return new Promise((done) => {
    for (const end of ["requestfinished", "requestfailed"])
      page.on(end, (request) => kind(request) && done());
  });
}

/** Another port of the same address is the same site: cookies marked SameSite are sent. Another name is another site. */
const origins = () => ({
  "same site, other port": `http://127.0.0.1:${evilPort}`,
  "other site": `http://localhost:${evilPort}`,
});

for (const which of ["same site, other port", "other site"]) {
  test(`forms, fetches, frames, sockets and streams of another origin change nothing (${which})`, async () => {
    const origin = origins()[which];
    const bot = await server.agent();
    const record = await ask(bot, low());
    const other = await ask(bot, low());
    const { context, page: own } = await signedIn(browser, server, "ann");
    // The cookie is really there: the same call from the own origin is allowed.
    assert.equal((await who(own)).body.name, "ann");
    const { digest, version, view } = (await asPage(own, "GET", `/v1/requests/${record.id}`)).body;
    const decision = JSON.stringify({ decision: "approve", digest, version, view: view.digest });
    const base = server.url;
    const before_ = await entries();

    const calls = [
      ["POST", `/v1/requests/${record.id}/decision`, decision],
      ["POST", `/v1/requests/${other.id}/decision`, decision.replace("approve", "deny")],
      ["POST", "/v1/decisions", `[${decision.replace("{", `{"id":"${record.id}",`)}]`],
      ["POST", "/v1/keys", '{"role":"admin","name":"mallory"}'],
      ["POST", "/v1/people", '{"name":"mallory","roles":["admin"]}'],
      ["POST", "/v1/people/ann/link", "{}"],
      ["PUT", "/v1/policy", '{"policy":"version = 1\\n[defaults]\\neffect = \\"deny\\"\\n"}'],
      ["PUT", "/v1/agents/bot/roots", '{"roots":["/srv/app"]}'],
      ["DELETE", "/v1/session", undefined],
      ["POST", "/v1/ledger/verify", ""],
      ["PUT", "/v1/session/password", '{"new":"a password of the stranger"}'],
      ["DELETE", "/v1/people/ann", undefined],
    ];
    const forms = [
      [`/v1/requests/${record.id}/decision`, "text/plain", [[`${decision.slice(0, -1)},"reason":"`, '"}']]],
      [
        `/v1/requests/${record.id}/decision`,
        "application/x-www-form-urlencoded",
        [
          ["decision", "approve"],
          ["digest", record.digest],
          ["version", record.version],
        ],
      ],
      [
        `/r/${record.id}/decision`,
        "application/x-www-form-urlencoded",
        [
          ["decision", "approve"],
          ["digest", record.digest],
          ["version", record.version],
          ["csrf", "guessed"],
        ],
      ],
      [
        `/r/${record.id}/decision`,
        "multipart/form-data",
        [
          ["decision", "deny"],
          ["digest", record.digest],
          ["version", record.version],
          ["reason", "x"],
        ],
      ],
      ["/v1/keys", "text/plain", [['{"role":"admin","name":"mallory","owner":"', '"}']]],
    ];

    page = "<!doctype html><title>nice page</title><p>hello</p>";
    const stranger = await context.newPage();
    await stranger.goto(`${origin}/`);
    const beacon = answered(stranger, (request) => request.resourceType() === "ping");
    const found = await stranger.evaluate(
      async ({ base, calls }) => {
        const seen = { readable: [], socket: [], stream: [], frames: [] };
        for (const [method, path, body] of calls) {
          for (const options of [
            { mode: "no-cors", credentials: "include", headers: { "content-type": "text/plain" } },
            { mode: "cors", credentials: "include", headers: { "content-type": "application/json" } },
            {
              mode: "cors",
              credentials: "include",
              headers: { "content-type": "application/json", "placet-csrf": "guessed" },
            },
          ]) {
            try {
              const answer = await fetch(base + path, { method, body, ...options });
              if (answer.type !== "opaque") seen.readable.push(`${method} ${path} ${answer.status}`);
            } catch {
              // Refused by the browser: fine.
            }
          }
        }
        for (const path of ["/v1/session", "/v1/requests", "/v1/stream", "/v1/sessions"]) {
          try {
            const answer = await fetch(base + path, { credentials: "include" });
            seen.readable.push(`GET ${path} ${answer.status}`);
          } catch {
            // Refused by the browser: fine.
          }
        }
        await new Promise((done) => {
          const socket = new WebSocket(`${base.replace("http", "ws")}/v1/ws`);
          socket.onopen = () => seen.socket.push("open");
          socket.onmessage = (event) => seen.socket.push(event.data);
          socket.onclose = done;
        });
        await new Promise((done) => {
          const stream = new EventSource(`${base}/v1/stream`, { withCredentials: true });
          stream.onopen = () => seen.stream.push("open");
          stream.onmessage = (event) => seen.stream.push(event.data);
          // A stranger is refused for good.
          stream.onerror = () => {
            stream.close();
            done();
          };
        });
        navigator.sendBeacon(`${base}${calls[0][1]}`, new Blob([calls[0][2]], { type: "text/plain" }));
        return seen;
      },
      { base, calls },
    );
    await beacon;
    assert.deepEqual(found.readable, [], "a stranger reads answers");
    assert.deepEqual(found.socket, [], "a stranger opened the socket");
    assert.deepEqual(found.stream, [], "a stranger opened the stream");

    for (const [path, type, fields] of forms) {
      for (const target of ["_self", "frame"]) {
        const tab = await context.newPage();
        await tab.goto(`${origin}/`);
        const posted = answered(tab, (request) => request.method() === "POST");
        await tab.evaluate(
          ({ action, type, fields, target }) => {
            const form = Object.assign(document.createElement("form"), {
              method: "post",
              action,
              enctype: type,
              target,
            });
            for (const [name, value] of fields)
              form.append(Object.assign(document.createElement("input"), { name, value, type: "hidden" }));
            document.body.append(Object.assign(document.createElement("iframe"), { name: "frame" }), form);
            form.submit();
          },
          { action: base + path, type, fields, target },
        );
        await posted;
        if (target === "_self" && path.startsWith("/r/")) await wentOn(tab, server);
        await tab.close();
      }
    }

    for (const path of ["/queue", `/r/${record.id}`, "/", "/sign-in"]) {
      const tab = await context.newPage();
      await tab.goto(`${origin}/`);
      await tab.evaluate(
        (src) =>
          new Promise((done) => {
            const frame = Object.assign(document.createElement("iframe"), { src, onload: done });
            document.body.append(frame);
          }),
        base + path,
      );
      const inside = await Promise.all(
        tab
          .frames()
          .slice(1)
          .map((frame) => frame.evaluate(() => document.body?.textContent ?? "").catch(() => "")),
      );
      assert.ok(
        !/approve|deny|queue|sign in/i.test(inside.join(" ")),
        `${path} can be framed: ${inside.join(" ").slice(0, 200)}`,
      );
      await tab.close();
    }

    assert.equal(await entries(), before_, "something changed");
    const rita = await server.reviewer();
    assert.equal((await rita.get(`/v1/requests/${record.id}`)).state, "pending");
    assert.equal((await who(own)).body.name, "ann", "signed out by a stranger");
    // The same decision from the own page, with its token, is taken: the refusals above were not for another reason.
    assert.equal((await asPage(own, "POST", `/v1/requests/${record.id}/decision`, decision)).status, 200);
    await context.close();
  });
}

test("without the token, or without the signature, nothing is decided even on the own origin", async () => {
  const bot = await server.agent();
  const record = await ask(bot, low());
  const { context, page: own } = await signedIn(browser, server, "ann");
  const { digest, version, view } = (await asPage(own, "GET", `/v1/requests/${record.id}`)).body;
  const body = { decision: "approve", digest, version, view: view.digest };
  const path = `/v1/requests/${record.id}/decision`;
  const post = async (options) => (await asPage(own, "POST", path, body, options)).status;
  assert.equal(await post({ csrf: false }), 403);
  assert.equal(await post({ csrf: false, headers: { "placet-csrf": "" } }), 403);
  assert.equal(await post({ csrf: false, headers: { "placet-csrf": "x".repeat(43) } }), 403);
  assert.equal(await post({ proof: false }), 401);
  assert.equal((await bot.get(`/v1/requests/${record.id}`)).state, "pending");
  assert.equal(await post({}), 200);
  await context.close();
});

test("pages carry the headers that keep strangers out", async () => {
  const bot = await server.agent();
  const record = await ask(bot, low());
  for (const path of ["/", "/queue", "/sign-in", `/r/${record.id}`]) {
    const { headers } = await fetch(server.url + path);
    const policy = headers.get("content-security-policy") ?? "";
    for (const part of [
      "default-src 'none'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "require-trusted-types-for 'script'",
    ]) {
      assert.ok(policy.includes(part), `${path}: no ${part} in ${policy}`);
    }
    assert.ok(!/unsafe-inline|unsafe-eval|\*/.test(policy), `${path}: ${policy}`);
    assert.equal(headers.get("x-frame-options"), "DENY", path);
    assert.match(headers.get("referrer-policy"), /^(no-referrer|same-origin)$/, path);
    assert.equal(headers.get("x-content-type-options"), "nosniff", path);
  }
});
