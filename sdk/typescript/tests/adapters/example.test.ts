import { execFile } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const run = promisify(execFile);
const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/** A copy beside our packages, so that nothing has to be installed for it. */
let copy: string;
beforeAll(async () => {
  await run(path("node_modules/.bin/tsc"), ["-p", path("../../tsconfig.build.json")]);
  copy = await mkdtemp(path("example-"));
  const example = path("../../../../examples/vercel-ai");
  await cp(example, copy, { recursive: true, filter: (file) => !file.includes("node_modules") });
});
afterAll(() => rm(copy, { recursive: true, force: true }));

test("the example of the AI SDK runs as edited, does not run what was denied, and leaves a true ledger", async () => {
  const { stdout } = await run(join(copy, "try.sh"), { timeout: 110_000 });
  expect(stdout).not.toContain("installing");
  expect(stdout.match(/!!.*/g)).toEqual(["!! refunded 120 EUR for o-1"]);
  expect(stdout).toContain("customers are never deleted");
  expect(stdout).toMatch(/find_order .* succeeded\n.*refund .*120.* succeeded\n.*delete_customer .* denied/);
  expect(stdout).toMatch(/^good: \d+ entries/m);
});
