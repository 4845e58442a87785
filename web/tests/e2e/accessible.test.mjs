// Every page, light and dark and on a phone: axe finds nothing, nothing is wider than the screen, no page logs an error.
import assert from "node:assert/strict";
import { axe, LONG, launch, readPlain, setPassword, signedIn } from "../lib/browser.mjs";
import { after, before, test } from "../lib/limited.mjs";
import { places, seed } from "../lib/seed.mjs";
import { BOUND, Server } from "../lib/server.mjs";

let server;
let browser;
let pending;

before(async () => {
  server = await Server.start({ set: ["sessions.unbound=password"] });
  ({ pending } = await seed(server, { past: 26 }));
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const modes = { light: {}, dark: { dark: true }, phone: { phone: true } };
/** Looked at in every mode; the others in one of them unless there is time. */
const MAIN = [
  "queue",
  "queue-plan",
  "queue-edit",
  "history",
  "ledger",
  "policy",
  "policy-edit",
  "insights",
  "people",
  "settings",
];

for (const [mode, options] of Object.entries(modes)) {
  test(`axe is content with every page (${mode})`, async (suite) => {
    const { context, page, seen } = await signedIn(browser, server, "ann", options);
    for (const [name, place] of Object.entries(places(pending))) {
      if (!LONG && mode !== "dark" && !MAIN.includes(name)) continue;
      if (!LONG && mode === "phone" && name.startsWith("policy-")) continue;
      await suite.test(name, async () => {
        await page.goto(server.url + place.path);
        // What is still being loaded cannot be judged, and before its program has begun nothing is on its way.
        await page.locator("h1").first().waitFor({ timeout: BOUND });
        await place.act(page);
        assert.deepEqual(await axe(page), []);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        assert.ok(wide <= 0, `${wide} px wider than the screen`);
      });
    }
    await suite.test("request page", async () => {
      await setPassword(page);
      await readPlain(page, `${server.url}/r/${pending[1].id}`);
      assert.deepEqual(await axe(page), []);
      await page.goto(`${server.url}/r/${pending[1].id}`);
      assert.deepEqual(await axe(page), []);
    });
    assert.deepEqual([...new Set(seen.errors)], []);
    await context.close();
  });
}

test("axe is content with signing in", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const context = await browser.newContext({ colorScheme });
    const page = await context.newPage();
    for (const path of ["/queue", "/sign-in", new URL(await server.link("ann")).pathname]) {
      await page.goto(server.url + path);
      await page
        .getByRole("heading", { name: /sign in/i })
        .first()
        .waitFor();
      assert.deepEqual(await axe(page), [], path);
    }
    await context.close();
  }
});
