import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// `npm run dev` passes API calls on to a running server: `make run` beside it, or PROCTOR_SERVER=http://host:port.
const server = process.env.PROCTOR_SERVER ?? "http://127.0.0.1:8000";
const proxy = { ...Object.fromEntries(["/api", "/auth", "/v2", "/v3", "/healthz"].map((path) => [path, { target: server }])), "/ws": { target: server, ws: true } };

export default defineConfig({
  plugins: [react(), tailwindcss()],
  server: { proxy },
  preview: { proxy },
  build: { target: "es2022", assetsDir: "assets", sourcemap: false, modulePreload: { polyfill: false } },
  test: { environment: "node", include: ["src/**/*.test.{ts,tsx}"] },
});
