// Gemini CLI in yolo mode.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** @type {import("../lib/scene.mjs").Agent} */
export const gemini = {
  name: "gemini",
  command: "gemini",
  dialect: "gemini",
  call: (command) => ({ tool: "run_shell_command", input: { command, description: "Has an effect" } }),
  write: (path, content) => ({ tool: "write_file", input: { file_path: path, content } }),
  delegate: (prompt) => [{ tool: "invoke_agent", input: { agent_name: "generalist", prompt } }],

  async configure(scene) {
    await mkdir(join(scene.home, ".gemini"));
    await writeFile(
      join(scene.home, ".gemini/settings.json"),
      JSON.stringify({
        security: { auth: { selectedType: "gemini-api-key" } },
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
      }),
    );
  },

  environment: (scene) => ({
    GEMINI_API_KEY: "none",
    GOOGLE_GEMINI_BASE_URL: scene.model.url,
    GEMINI_CLI_TRUST_WORKSPACE: "true", // without it yolo is ignored and a run without a terminal refused
  }),

  words: (prompt) => ["--model", "gemini-2.5-flash", "--yolo", "--prompt", prompt],
};
