// Which agents the install step could not get here, and why.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const LIST = join(import.meta.dirname, "../node_modules/.agents.json");

/** Why this agent's tests are skipped; `false` if they are not. */
export function absence(name) {
  if (!existsSync(LIST)) {
    throw new Error("the agents are not installed: run `npm run agents` in tests/agents");
  }
  const found = JSON.parse(readFileSync(LIST, "utf8"))[name];
  if (!found) {
    throw new Error(`the install step does not know ${name}: run \`npm run agents\` in tests/agents`);
  }
  return found.absent ?? false;
}
