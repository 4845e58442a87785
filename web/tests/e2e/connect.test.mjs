// Connecting an agent from the empty queue, and the test request, against the real program.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { axe, launch, PHONE, signedIn } from "../lib/browser.mjs";
import { after, before, test } from "../lib/limited.mjs";
import { clean, detail, openByKeyboard, think, toasts, until } from "../lib/screen.mjs";
import { Api, program, Server } from "../lib/server.mjs";

let server;
let browser;

before(async () => {
  server = await Server.start();
  await server.person("ann", ["reviewer", "admin", "auditor"]);
  await server.person("bob");
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const connect = (page) => page.getByRole("region", { name: "Connect an agent" });

/** Runs the lines of a step as a shell does. */
async function run(lines, cwd) {
  const child = spawn("bash", ["-ec", lines], {
    cwd,
    env: { PATH: `${dirname(program())}:${process.env.PATH}`, HOME: cwd },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  for (const pipe of [child.stdout, child.stderr]) pipe.on("data", (chunk) => (out += chunk));
  const code = await new Promise((done) => child.once("close", done));
  assert.equal(code, 0, out);
  return out;
}

test("the empty queue makes a key, fills in the lines, and turns live with the first call", async () => {
  const folder = await mkdtemp(join(tmpdir(), "placet-connect-"));
  const { page, seen, context } = await signedIn(browser, server, "ann");
  // Pages may write to the clipboard and not read it, so the test notes what is written.
  await context.addInitScript(() => {
    navigator.clipboard.writeText = async (words) => {
      window.copied = words;
    };
  });
  await page.goto(`${server.url}/queue`);
  const region = connect(page);
  await region.getByRole("button", { name: "curl" }).click();
  assert.match(await region.locator("pre").textContent(), /PLACET_TOKEN=plk_agent_…/);
  assert.equal(
    await region.getByRole("button", { name: "Copy", exact: true }).count(),
    0,
    "there is no key to copy yet",
  );
  await region.getByLabel("Name of the agent").fill("first-bot");
  await region.getByRole("button", { name: "Make a key, and copy the lines" }).click();
  await region.getByText("Waiting for the first call").waitFor();
  const lines = await region.locator("pre").textContent();
  assert.match(lines, new RegExp(`PLACET_URL=${server.url}\n`));
  assert.match(lines, /PLACET_TOKEN=plk_agent_[a-z0-9]{52}\n/);
  assert.equal(await page.evaluate(() => window.copied), lines, "it was copied");
  const key = /plk_agent_[a-z0-9]+/.exec(lines)[0];

  // A call that policy allows asks nobody, and still shows.
  const bot = new Api(server.url, key);
  await bot.post("/v1/requests", { kind: "action", tool: "free.look", arguments: {}, session: "s" });
  await region.getByText("first-bot asked for free.look: approved").waitFor();

  // The copied lines work. The call waits, and is in the queue at once.
  const answer = JSON.parse(await run(lines, folder));
  assert.deepEqual([answer.agent, answer.tool, answer.state], ["first-bot", "delete_files", "pending"]);
  await page.locator(`[role="option"][data-id="${answer.id}"]`).waitFor();
  assert.equal(await region.count(), 0, "the queue is not empty");
  await bot.post(`/v1/requests/${answer.id}/cancel`, {});
  await page.reload();
  await region.waitFor();
  clean(seen);
  await context.close();
  await rm(folder, { recursive: true });
});

test("the test request is decided by keyboard, runs nothing, and leaves no key that works", async () => {
  const { page, seen, context } = await signedIn(browser, server, "ann");
  await page.goto(`${server.url}/queue`);
  await connect(page).getByRole("button", { name: "Send me a test request" }).click();
  await toasts(page).getByText("The test request is in the queue").waitFor();
  const cleo = await server.as("auditor", "cleo");
  const { items } = await cleo.get("/v1/requests?state=pending");
  assert.deepEqual(
    items.map((each) => [each.agent, each.tool, each.session, each.risk]),
    [["placet-test", "placet-test", "placet-test", "low"]],
  );
  await openByKeyboard(page, items[0]);
  await detail(page).getByText("Nothing runs").first().waitFor();
  await page.keyboard.press("a");
  await think(page);
  // The page plays the agent: it takes the permit, reports, and gives its key back.
  const record = await until(cleo, items[0].id, (each) => each.state === "succeeded");
  assert.match(JSON.stringify(record.outcome), /nothing was run/);
  await toasts(page).getByText("The test is over").first().waitFor();
  const keys = (await server.admin.get("/v1/keys")).items.filter((each) => each.name === "placet-test");
  assert.deepEqual(
    keys.map((each) => each.revoked_at === null),
    [false],
  );
  clean(seen);
  await context.close();
});

test("a reviewer who may not make keys is told what to ask for, and sends nothing", async () => {
  const { page, seen, context } = await signedIn(browser, server, "bob");
  await page.goto(`${server.url}/queue`);
  const region = connect(page);
  await region.getByText("Only an admin of this server can make a key").waitFor();
  await region.getByText("placet key new --role agent --name claude").waitFor();
  assert.ok(await region.getByRole("button", { name: "Send me a test request" }).isDisabled());
  assert.equal(await region.getByLabel("Name of the agent").count(), 0);
  clean(seen);
  await context.close();
});

test("connecting works on a phone and in the dark, without faults for screen readers", async () => {
  for (const options of [{ phone: true }, { dark: true }]) {
    const { page, seen, context } = await signedIn(browser, server, "ann", options);
    await page.goto(`${server.url}/queue`);
    await connect(page).waitFor();
    assert.deepEqual(await axe(page), []);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (options.phone) assert.ok(wide <= PHONE.width, `${wide} pixels are wider than the screen`);
    clean(seen);
    await context.close();
  }
});
