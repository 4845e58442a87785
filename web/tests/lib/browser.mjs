// The browser of the tests, and a page that is signed in and watched.
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

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

/** A context of its own, signed in as `name` by a one-time link. */
export async function signedIn(
  browser,
  server,
  name,
  { viewport = DESKTOP, dark = false, phone = false } = {},
) {
  const context = await browser.newContext({
    viewport: phone ? PHONE : viewport,
    colorScheme: dark ? "dark" : "light",
    reducedMotion: "reduce",
    hasTouch: phone,
    isMobile: phone,
    deviceScaleFactor: phone ? 2 : 1,
  });
  context.setDefaultTimeout(8_000);
  const page = await context.newPage();
  const seen = watch(page, server);
  await signIn(page, server, name);
  return { context, page, seen };
}

/** Opens a one-time link and presses its one button. */
export async function signIn(page, server, name) {
  await page.goto(await server.link(name));
  await page
    .getByRole("button", { name: /sign in|continue/i })
    .first()
    .click();
  await page.waitForURL((url) => !url.pathname.startsWith("/sign-in"), { timeout: 10_000 });
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
