import { defineConfig } from "vitest/config";

// Every file starts a server of its own; two at a time are enough for a small machine.
export default defineConfig({ test: { testTimeout: 30_000, hookTimeout: 60_000, maxWorkers: 2 } });
