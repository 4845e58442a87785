// The browser of the tests, and a page that is signed in and watched.
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { BOUND } from "./server.mjs";

export const LONG = process.env.PLACET_LONG === "1";
export const CHROMIUM = process.env.PLACET_CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** A browser with a fresh profile. */
export const launch = () => chromium.launch({ executablePath: CHROMIUM, headless: true, args: FLAGS });

export const DESKTOP = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };

/** Notes what must never happen: scripts of strangers, requests elsewhere, dialogs, errors, refused markup. */
export function watch(page, server) {
  const seen = { foreign: [], errors: [], dialogs: [], popups: [] };
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${server.url}/`) && !url.startsWith("data:") && !url.startsWith("blob:"))
      seen.foreign.push(url);
  });
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text()))
      seen.errors.push(message.text());
  });
  page.on("dialog", async (dialog) => {
    seen.dialogs.push(dialog.message());
    await dialog.dismiss();
  });
  page.on("popup", (popup) => seen.popups.push(popup.url()));
  return seen;
}

/** A context of its own, signed in as `name` by a one-time link. Its pages have a clock that the test can move. */
export async function signedIn(
  browser,
  server,
  name,
  { viewport = DESKTOP, dark = false, phone = false, clock = true } = {},
) {
  const context = await browser.newContext({
    viewport: phone ? PHONE : viewport,
    colorScheme: dark ? "dark" : "light",
    reducedMotion: "reduce",
    hasTouch: phone,
    isMobile: phone,
    deviceScaleFactor: phone ? 2 : 1,
  });
  context.setDefaultTimeout(BOUND);
  // The clock that the test moves also stands in for frames. Who scrolls has to wait for one that is painted.
  await context.addInitScript(() => {
    const [frame, later] = [window.requestAnimationFrame.bind(window), window.setTimeout.bind(window)];
    window.painted = () => new Promise((done) => frame(() => later(done)));
  });
  if (clock) await context.clock.install();
  const page = await context.newPage();
  const seen = watch(page, server);
  count(page);
  await signIn(page, server, name);
  return { context, page, seen };
}

/** Calls of each page that have no answer yet. The stream never has a whole one. */
const calls = new WeakMap();

function count(page) {
  const open = new Set();
  calls.set(page, open);
  page.on("request", (request) => {
    if (!new URL(request.url()).pathname.startsWith("/v1/stream")) open.add(request);
  });
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => open.delete(request));
  // What a page that was left had asked for has no end.
  page.on("framenavigated", (frame) => {
    if (frame === page.mainFrame())
      for (const request of open) if (request.isNavigationRequest()) open.delete(request);
  });
}

/** Waits until nothing is loading, nothing moves, and what came is painted. */
export async function quiet(page) {
  const open = calls.get(page);
  const end = Date.now() + BOUND;
  for (let turns = 0; turns < 3; turns = open.size === 0 ? turns + 1 : 0) {
    if (Date.now() > end) throw new Error(`still loading: ${[...open].map((each) => each.url())}`);
    await page.evaluate(async () => {
      await window.painted();
      await Promise.all(document.getAnimations().map((each) => each.finished.catch(() => {})));
    });
  }
}

/** Opens a one-time link and presses its one button. */
export async function signIn(page, server, name) {
  await page.goto(await server.link(name));
  await page
    .getByRole("button", { name: /sign in|continue/i })
    .first()
    .click();
  await page.waitForURL((url) => !url.pathname.startsWith("/sign-in"));
}

/**
 * A call as the page itself makes it: with the key that the browser keeps. `proof: false` leaves the signature out.
 * Gives `{status, body}`.
 */
export async function asPage(page, method, path, body, { proof = true, csrf = true, headers = {} } = {}) {
  return await page.evaluate(
    async ({ method, path, body, proof, csrf, headers }) => {
      const kept = await new Promise((done, fail) => {
        const opening = indexedDB.open("placet", 1);
        opening.onupgradeneeded = () => opening.result.createObjectStore("session");
        opening.onerror = () => fail(opening.error);
        opening.onsuccess = () => {
          const reading = opening.result.transaction("session").objectStore("session").get("current");
          reading.onsuccess = () => done(reading.result ?? null);
        };
      });
      const hex = (bytes) =>
        Array.from(new Uint8Array(bytes), (each) => each.toString(16).padStart(2, "0")).join("");
      const text = (words) => new TextEncoder().encode(words);
      const call = async (method, path, body, nonce, more) => {
        const sent = new Headers(more);
        if (body !== undefined) sent.set("content-type", "application/json");
        if (nonce && kept) {
          const digest = hex(await crypto.subtle.digest("SHA-256", text(body ?? "")));
          const words = text(`placet/proof/v1\n${method}\n${path}\n${digest}\n${kept.id}\n${nonce}`);
          const signed = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, kept.key, words);
          const base64 = btoa(String.fromCharCode(...new Uint8Array(signed)));
          sent.set(
            "placet-proof",
            `v1.${base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`,
          );
        }
        const answer = await fetch(path, { method, headers: sent, body });
        const said = await answer.text();
        let parsed = said;
        try {
          parsed = JSON.parse(said);
        } catch {
          // Not every answer is JSON.
        }
        return { status: answer.status, body: parsed };
      };
      const { nonce } = (await call("GET", "/v1/session", undefined, null, {})).body;
      const me = await call("GET", "/v1/session", undefined, nonce, {});
      const more = { ...(csrf && me.body.csrf ? { "placet-csrf": me.body.csrf } : {}), ...headers };
      return await call(method, path, body, proof ? nonce : null, more);
    },
    {
      method,
      path,
      body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
      proof,
      csrf,
      headers,
    },
  );
}

/**
 * Waits until the page of a request has gone on to the dashboard, as it does where there are scripts. A tab that is closed
 * while it goes elsewhere may stay open in Chromium for ever.
 */
export async function wentOn(page, server) {
  await page.waitForURL(`${server.url}/queue?*`);
}

/** Who is signed in on this page: the status and what is said of them. */
export async function who(page) {
  return await asPage(page, "GET", "/v1/session");
}

const PASSWORD = "three quiet green owls";

/** Gives the person of this page a password. */
export async function setPassword(page) {
  const { status } = await asPage(page, "PUT", "/v1/session/password", { new: PASSWORD });
  if (status !== 204) throw new Error(`no password was set: ${status}`);
}

/** Reads the page of a request that is drawn for browsers without scripts: with the password, each time. */
export async function readPlain(page, address, name = "ann") {
  await page.goto(address, { waitUntil: "domcontentloaded" });
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Show it" }).click();
  await page.getByRole("heading", { name: "Your decision" }).waitFor();
}

/** What axe has to say about the page, serious or not. */
export async function axe(page) {
  // The page's own policy forbids foreign scripts; the debugger is not the page.
  const { readFile } = await import("node:fs/promises");
  const source = await readFile(axePath, "utf8");
  const client = await page.context().newCDPSession(page);
  await client.send("Runtime.evaluate", { expression: source });
  const { result, exceptionDetails } = await client.send("Runtime.evaluate", {
    expression: `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
      .then((found) => JSON.stringify(found.violations.map((each) => ({
        id: each.id, impact: each.impact, nodes: each.nodes.map((node) => node.target.join(' ') + ' :: ' + node.html.slice(0, 160) + ' :: ' + (node.failureSummary ?? '').split('\\n').slice(1, 3).join(' ')),
      }))))`,
    awaitPromise: true,
    returnByValue: true,
  });
  await client.detach();
  if (exceptionDetails) throw new Error(`axe failed: ${JSON.stringify(exceptionDetails).slice(0, 600)}`);
  return JSON.parse(result.value);
}
