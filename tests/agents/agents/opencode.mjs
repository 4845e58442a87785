// OpenCode with every permission granted.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** @type {import("../lib/scene.mjs").Agent} */
export const opencode = {
  name: "opencode",
  command: "opencode",
  dialect: "chat",
  call: (command) => ({ tool: "bash", input: { command, description: "Has an effect" } }),
  write: (path, content) => ({ tool: "write", input: { filePath: path, content } }),
  delegate: (prompt) => [{ tool: "task", input: { description: "Help", prompt, subagent_type: "general" } }],

  async configure(scene) {
    const folder = join(scene.home, ".config/opencode");
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, "opencode.json"),
      JSON.stringify({
        autoupdate: false,
        share: "disabled",
        model: "local/stand-in",
        small_model: "local/stand-in",
        permission: "allow",
        provider: {
          local: {
            npm: "@ai-sdk/openai-compatible",
            name: "local",
            options: { baseURL: `${scene.model.url}/v1`, apiKey: "none" },
            models: { "stand-in": { name: "stand-in" } },
          },
        },
      }),
    );
    await this.offline(folder);
    await this.offline(join(scene.home, ".opencode"));
  },

  /** OpenCode fetches the types for plugins, which nothing here uses, unless it finds them in its folder. */
  async offline(folder) {
    await mkdir(join(folder, "node_modules"), { recursive: true });
    const types = { dependencies: { "@opencode-ai/plugin": "*" } };
    await writeFile(join(folder, "package.json"), JSON.stringify(types));
    await writeFile(
      join(folder, "package-lock.json"),
      JSON.stringify({ lockfileVersion: 3, packages: { "": types } }),
    );
  },

  environment: () => ({
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
  }),

  words: (prompt) => ["run", "--dangerously-skip-permissions", prompt],
};
