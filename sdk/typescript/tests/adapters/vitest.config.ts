import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`../../src/${path}`, import.meta.url));

export default defineConfig({
  // As programs import them, from the source as it stands.
  resolve: {
    alias: [
      { find: "placet/resume", replacement: source("resume/index.ts") },
      { find: /^placet\/(.*)$/, replacement: source("adapters/$1.ts") },
      { find: /^placet$/, replacement: source("index.ts") },
    ],
  },
  // Every file starts a server of its own, and one of them real agents.
  test: { include: ["*.test.ts"], testTimeout: 120_000, hookTimeout: 120_000, maxWorkers: 2 },
});
