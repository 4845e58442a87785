/** Claude Code in a home of its own, with a script in place of a model. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Options, query, type SDKMessage, type SDKResultMessage } from "@anthropic-ai/claude-agent-sdk";
import { afterAll, beforeAll, expect } from "vitest";
import { type Script, startModel } from "./claude-model.js";
import type { Told } from "./stage.js";

export const PROMPT = "Carry out the plan.";

/** The folder is part of what is asked, so runs that repeat a call share it. */
let work: string;
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "placet-claude-work-"));
});
afterAll(() => rm(work, { recursive: true, force: true, maxRetries: 5 }));

/** With nothing but the stand-in to talk to. */
export async function world(script: Script, told: Told, seen: (message: SDKMessage) => void = () => {}) {
  const root = await mkdtemp(join(tmpdir(), "placet-claude-sdk-"));
  const home = join(root, "home");
  await mkdir(home);
  const model = await startModel(script, told);
  const env = {
    ...{ PATH: process.env.PATH, HOME: home, TMPDIR: root, LANG: "C.UTF-8" },
    ...{ ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: "none" },
    ...{ HTTP_PROXY: model.url, HTTPS_PROXY: model.url, NO_PROXY: "127.0.0.1,localhost" },
    ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1" },
    IS_SANDBOX: "1", // without it root may not bypass permissions
  };
  /** With every permission bypassed, unless said otherwise: what holds is the gate alone. */
  const base: Options = {
    cwd: work,
    env,
    settingSources: [],
    permissionMode: "bypassPermissions",
    allowDangerouslySkipPermissions: true,
  };
  const run = async (options: Options, prompt = PROMPT): Promise<SDKResultMessage | undefined> => {
    let result: SDKResultMessage | undefined;
    for await (const message of query({ prompt, options: { ...base, ...options } })) {
      seen(message);
      if (message.type === "result") result = message;
    }
    return result;
  };
  const close = async () => {
    await model.stop();
    await rm(root, { recursive: true, force: true, maxRetries: 5 });
    expect(model.strange).toEqual([]);
  };
  return { run, close, base };
}
