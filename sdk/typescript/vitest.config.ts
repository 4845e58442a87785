import { defineConfig } from "vitest/config";

// Every file starts a server of its own; two at a time are enough for a small machine.
// The adapters have packages of their own, and run from there.
export default defineConfig({
  test: {
    testTimeout: 120_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
    exclude: ["**/node_modules/**", "tests/adapters/**"],
  },
});
