import { defineConfig } from "vitest/config";

// Every file starts a server of its own.
export default defineConfig({
  test: { include: ["*.test.ts"], testTimeout: 120_000, hookTimeout: 120_000, maxWorkers: 2 },
});
