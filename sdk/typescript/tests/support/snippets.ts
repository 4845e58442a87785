/** The examples of the documentation, run as they are printed, with a person who says yes to everything. */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { BOUND, type Reviewer } from "./server.js";

/** What stands between the fences for TypeScript, in order. */
export async function snippets(page: string): Promise<string[]> {
  return [...(await readFile(page, "utf8")).matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code as string);
}

/** Approves, and answers questions with the first option or a word. */
export function approving({ client }: Reviewer): { stop: () => Promise<void> } {
  let going = true;
  const work = (async () => {
    while (going) {
      const { items } = await client.list({ state: "pending", limit: "100" });
      for (const { id, kind, digest, version, input } of items) {
        const asked = kind === "input";
        const more = asked ? { answer: input?.options?.[0] ?? "fine" } : {};
        await client
          .decide(id, asked ? "respond" : "approve", { digest, version, ...more })
          .catch(() => undefined);
      }
      await sleep(20);
    }
  })();
  return {
    stop: async () => {
      going = false;
      await work;
    },
  };
}

/** Runs one with what it declares. A program that listens for SIGTERM gets it when it has said what it is to say. */
export async function played(
  file: string,
  declared: string,
  more: NodeJS.ProcessEnv,
  until: RegExp,
): Promise<string> {
  const env = { ...process.env, ...more };
  const child = spawn(process.execPath, ["--import", declared, file], { cwd: dirname(file), env });
  const stays = (await readFile(file, "utf8")).includes("SIGTERM");
  let [said, errors] = ["", ""];
  const heard = (chunk: Buffer) => {
    said += chunk;
    if (stays && until.test(said)) child.kill("SIGTERM");
  };
  child.stdout.on("data", heard);
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk;
  });
  const late = setTimeout(() => child.kill("SIGKILL"), 3 * BOUND);
  const code = await new Promise((done) => child.once("close", done));
  clearTimeout(late);
  expect(code, `${file} ended with ${code}\n${said}\n${errors}`).toBe(0);
  return said;
}
