// Codex, without approvals and without a sandbox.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** @type {import("../lib/scene.mjs").Agent} */
export const codex = {
  name: "codex",
  command: "codex",
  dialect: "responses",
  call: (command) => ({ tool: "exec_command", input: { cmd: command } }),
  delegate: (prompt) => [
    { tool: "spawn_agent", namespace: "multi_agent_v1", input: { message: prompt } },
    {
      tool: "wait_agent",
      namespace: "multi_agent_v1",
      input: (told) => ({ targets: [JSON.parse(told.get("call_1")).agent_id] }),
    },
  ],

  async configure(scene) {
    await mkdir(join(scene.home, ".codex"));
    await writeFile(
      join(scene.home, ".codex/config.toml"),
      `model = "stand-in"
model_provider = "local"
check_for_update_on_startup = false

[model_providers.local]
name = "local"
base_url = "${scene.model.url}/v1"
wire_api = "responses"

# These look for news on the net.
[features]
apps = false
plugins = false
remote_plugin = false
plugin_discovery_prefetch = false

[analytics]
enabled = false
`,
    );
  },

  environment: () => ({}),

  // Not `--dangerously-bypass-hook-trust`: the installer has to see to it that Codex trusts the hook.
  words: (prompt) => ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt],
};
