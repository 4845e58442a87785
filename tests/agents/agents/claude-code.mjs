// Claude Code, with every permission bypassed.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** @type {import("../lib/scene.mjs").Agent} */
export const claudeCode = {
  name: "claude-code",
  command: "claude",
  dialect: "messages",
  call: (command) => ({ tool: "Bash", input: { command, description: "Has an effect" } }),
  write: (path, content) => ({ tool: "Write", input: { file_path: path, content } }),
  delegate: (prompt) => [
    {
      tool: "Agent",
      input: { description: "Help", prompt, subagent_type: "general-purpose", run_in_background: false },
    },
  ],

  async configure(scene) {
    // A user has settings of their own, which the installer must leave alone.
    await mkdir(join(scene.home, ".claude"));
    await writeFile(join(scene.home, ".claude/settings.json"), JSON.stringify({ cleanupPeriodDays: 20 }));
  },

  environment: (scene) => ({
    ANTHROPIC_BASE_URL: scene.model.url,
    ANTHROPIC_API_KEY: "none",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    IS_SANDBOX: "1", // without it the next option is refused to root
  }),

  words: (prompt) => ["--dangerously-skip-permissions", "-p", prompt],
};
