// Makes screenshots of every page, light, dark and on a phone: `npm run shots -- FOLDER [NAME…]`.
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { launch, signedIn } from "./lib/browser.mjs";
import { places, seed } from "./lib/seed.mjs";
import { Server } from "./lib/server.mjs";

const [folder, ...only] = process.argv.slice(2);
if (!folder) {
  console.error("say where the screenshots go: npm run shots -- FOLDER [NAME…]");
  process.exit(2);
}
const target = resolve(folder);
await mkdir(target, { recursive: true });
const server = await Server.start();
const browser = await launch();
try {
  const { pending } = await seed(server);
  const all = Object.entries(places(pending)).filter(
    ([name]) => only.length === 0 || only.some((each) => name.startsWith(each)),
  );
  for (const [mode, options] of Object.entries({ light: {}, dark: { dark: true }, phone: { phone: true } })) {
    const { context, page, seen } = await signedIn(browser, server, "ann", options);
    for (const [name, place] of all) {
      await page.goto(server.url + place.path);
      await place.act(page);
      await page.screenshot({ path: join(target, `${name}-${mode}.png`) });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      console.log(`${name}-${mode}.png${wide > 0 ? `  (${wide} px wider than the screen)` : ""}`);
    }
    if (only.length === 0 || only.includes("request")) {
      await page.goto(`${server.url}/r/${pending[1].id}`);
      await page.screenshot({ path: join(target, `request-${mode}.png`) });
    }
    await context.close();
    for (const error of new Set(seen.errors)) console.log(`  the page said: ${error}`);
    if (only.length === 0 || only.includes("sign-in")) {
      const outside = await browser.newContext({
        viewport: options.phone ? { width: 390, height: 844 } : { width: 1440, height: 900 },
        colorScheme: options.dark ? "dark" : "light",
      });
      const front = await outside.newPage();
      await front.goto(`${server.url}/queue`);
      await front
        .getByRole("heading", { name: /sign in/i })
        .first()
        .waitFor();
      await front.screenshot({ path: join(target, `sign-in-${mode}.png`) });
      await front.goto(`${server.url}/sign-in`);
      await front.screenshot({ path: join(target, `sign-in-plain-${mode}.png`) });
      await outside.close();
    }
  }
} finally {
  await browser.close();
  await server.stop();
}
