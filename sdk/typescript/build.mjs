/**
 * Builds `dist`. npm runs it as `prepare`, also for `npm install ./sdk/typescript`, and installs no development packages
 * then: the compiler is fetched if it is not there.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL(".", import.meta.url));
const { devDependencies } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
/** What is there stays until it can be replaced: others may be using it. */
const made = `${root}dist-${process.pid}`;
const compile = ["-p", "tsconfig.build.json", "--outDir", made];

function compiler() {
  try {
    return [process.execPath, [createRequire(import.meta.url).resolve("typescript/bin/tsc"), ...compile]];
  } catch {
    const fetched = ["exec", "--yes", `--package=typescript@${devDependencies.typescript}`, "--", "tsc"];
    return ["npm", [...fetched, ...compile]];
  }
}

const [program, args] = compiler();
const { status, error } = spawnSync(program, args, {
  cwd: root,
  stdio: "inherit",
  shell: process.platform === "win32" && program === "npm",
});
if (status !== 0) {
  rmSync(made, { recursive: true, force: true });
  console.error(
    `placet could not be built in ${root}: ${error?.message ?? `the compiler ended with ${status}`}`,
  );
  process.exit(1);
}
rmSync(`${root}dist`, { recursive: true, force: true });
renameSync(made, `${root}dist`);
