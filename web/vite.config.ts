import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The dev server stands in front of a running placet: PLACET_URL says where, PLACET_TOKEN signs every call.
const target = process.env.PLACET_URL ?? "http://127.0.0.1:4000";
const token = process.env.PLACET_TOKEN;

const proxy = {
  target,
  changeOrigin: true,
  configure(server: { on(event: "proxyReq", hook: (request: Outgoing) => void): void }) {
    server.on("proxyReq", (request) => {
      if (token) request.setHeader("authorization", `Bearer ${token}`);
      // The server accepts only its own origin; the browser names that of the dev server.
      if (request.getHeader("origin")) request.setHeader("origin", target);
    });
  },
};
interface Outgoing {
  setHeader(name: string, value: string): void;
  getHeader(name: string): unknown;
}

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  server: { proxy: { "/v1": proxy, "/r/": proxy, "/healthz": proxy, "/readyz": proxy } },
  preview: { proxy: { "/v1": proxy, "/r/": proxy } },
  build: {
    target: "es2022",
    // The page runs under a strict content security policy: nothing inline, no data: scripts.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    cssCodeSplit: true,
    sourcemap: false,
    reportCompressedSize: true,
  },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
