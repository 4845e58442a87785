// Measures how fast the dashboard is, each figure beside a baseline of the same run: `npm run measure`.
//
// Milliseconds depend on the machine, and on what else it does: compare the ratios of two versions. The limits are about
// five times what a busy machine with two cores needs, so only a dashboard that became much slower fails.
import { ask, askMany, low } from "./lib/ask.mjs";
import { LONG, launch, signedIn } from "./lib/browser.mjs";
import { row } from "./lib/screen.mjs";
import { BOUND, Server } from "./lib/server.mjs";

// As many as fit on the screen: rows outside of it are not drawn.
const EVENTS = 15;
const PAINTS = 5;
const MANY = LONG ? 10_000 : 1_000;
const BURST = 1_000;
/** Of an event: beside a commit and two frames. Of first rows: many beside few. Of a long task: milliseconds. */
const LIMITS = { event: 5, rows: 6, task: 500 };

const quantile = (numbers, share) =>
  [...numbers].sort((left, right) => left - right)[
    Math.min(numbers.length - 1, Math.floor(numbers.length * share))
  ];
const sum = (numbers) => numbers.reduce((all, each) => all + each, 0);
const round = (number) => number.toFixed(0);
const ratio = (found, base) => (base > 0 ? (found / base).toFixed(2) : "-");

/** Fails the run, and lets it go on: every figure is of use. */
function limit(what, found, most) {
  if (found <= most) return;
  console.error(`TOO SLOW: ${what} is ${found.toFixed(2)}, the limit is ${most}`);
  process.exitCode = 1;
}

/** In the page: notes long tasks, and when each row was first on screen. */
function instruments() {
  window.measured = { tasks: [], rows: new Map(), first: null };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.measured.tasks.push(Math.round(entry.duration));
  }).observe({ type: "longtask", buffered: true });
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) {
      for (const node of addedNodes) {
        if (!(node instanceof Element)) continue;
        const rows = node.matches("[role=option][data-id]")
          ? [node]
          : node.querySelectorAll("[role=option][data-id]");
        for (const each of rows) {
          if (window.measured.rows.has(each.dataset.id)) continue;
          // On screen after the next frame.
          requestAnimationFrame(() => {
            const at = performance.timeOrigin + performance.now();
            if (!window.measured.rows.has(each.dataset.id)) window.measured.rows.set(each.dataset.id, at);
            window.measured.first ??= performance.now();
          });
        }
      }
    }
  }).observe(document, { childList: true, subtree: true });
}

/** A page with instruments and the machine's own clock. */
async function instrumented(browser, server) {
  const { context, page } = await signedIn(browser, server, "ann", { clock: false });
  await page.addInitScript(instruments);
  return { context, page };
}

/** From the server's time of creation to the frame that shows it, beside a commit and two frames. */
async function lateness(page, bot) {
  const late = [];
  const base = [];
  for (let turn = 0; turn < EVENTS; turn += 1) {
    const began = performance.now();
    const record = await ask(bot, low({ turn }));
    const answered = performance.now() - began;
    await row(page, record.id).waitFor();
    await page.waitForFunction((id) => window.measured.rows.has(id), record.id);
    // The server and the page read the same machine's clock.
    late.push(
      (await page.evaluate((id) => window.measured.rows.get(id), record.id)) - Date.parse(record.created_at),
    );
    const frames = await page.evaluate(async () => {
      const before = performance.now();
      for (let count = 0; count < 2; count += 1) await new Promise(requestAnimationFrame);
      return performance.now() - before;
    });
    base.push(answered + frames);
  }
  return { late, base };
}

/** When the first row is on screen, counted from the start of the navigation. */
async function paints(page, server) {
  const found = [];
  for (let turn = 0; turn < PAINTS; turn += 1) {
    await page.goto(`${server.url}/queue`);
    await page.waitForFunction(() => window.measured.first !== null);
    found.push(await page.evaluate(() => window.measured.first));
  }
  return found;
}

/** Long tasks while a key is pressed again and again, until the work has come to its end. */
async function tasks(page, work) {
  await page.evaluate(() => window.measured.tasks.splice(0));
  let working = true;
  const ended = work().finally(() => {
    working = false;
  });
  while (working) await page.keyboard.press("j");
  await ended;
  return page.evaluate(() => window.measured.tasks.splice(0));
}

const counted = (page, count) =>
  page.waitForFunction(
    (text) => document.querySelector("[role=status]")?.textContent?.includes(text),
    String(count),
    { timeout: BOUND },
  );

const server = await Server.start();
const browser = await launch();
try {
  await server.person("ann", ["reviewer", "admin"]);
  const bot = await server.agent();
  const agents = await Promise.all(Array.from({ length: 4 }, (_, at) => server.agent(`crowd-${at}`)));
  const crowd = (count) =>
    Promise.all(agents.map((agent) => askMany(agent, count / agents.length, (turn) => low({ turn }), 16)));
  const { context, page } = await instrumented(browser, server);

  await page.goto(`${server.url}/queue`);
  const { late, base } = await lateness(page, bot);
  for (const share of [0.5, 0.9]) {
    const [found, beside] = [quantile(late, share), quantile(base, share)];
    console.log(
      `event on screen, p${share * 100}: ${round(found)} ms; a commit and two frames: ${round(beside)} ms; ratio ${ratio(found, beside)}`,
    );
  }
  limit("event on screen, p50, ratio", quantile(late, 0.5) / quantile(base, 0.5), LIMITS.event);

  const few = quantile(await paints(page, server), 0.5);
  await crowd(MANY);
  const many = quantile(await paints(page, server), 0.5);
  console.log(
    `first rows of ${MANY + EVENTS}: ${round(many)} ms; of ${EVENTS}: ${round(few)} ms; ratio ${ratio(many, few)}`,
  );
  limit("first rows, ratio", many / few, LIMITS.rows);

  await counted(page, MANY + EVENTS);
  const began = performance.now();
  const burst = await tasks(page, async () => {
    await crowd(BURST);
    await counted(page, MANY + EVENTS + BURST);
  });
  const took = performance.now() - began;
  const calm = await tasks(page, () => new Promise((done) => setTimeout(done, took)));
  console.log(
    `burst of ${BURST} in ${round(took)} ms: ${burst.length} long tasks, ${sum(burst)} ms together, worst ${Math.max(0, ...burst)} ms; ` +
      `without it in the same time: ${calm.length}, ${sum(calm)} ms, worst ${Math.max(0, ...calm)} ms; ratio ${ratio(sum(burst), sum(calm))}`,
  );
  limit("worst long task of a burst, ms", Math.max(0, ...burst), LIMITS.task);
  await context.close();
} finally {
  await browser.close();
  await server.stop();
}
