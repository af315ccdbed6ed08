import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { mockServer } from "./dev/mock.ts";

// `MOCK=1 npm run dev` answers from dev/mock.ts; plain `npm run dev` passes API calls to a server on port 8000.
const server = process.env.PROCTOR_SERVER ?? "http://127.0.0.1:8000";
const passed = Object.fromEntries(["/api", "/auth", "/v2", "/v3", "/healthz"].map((path) => [path, server]));

export default defineConfig({
  plugins: [react(), tailwindcss(), ...(process.env.MOCK ? [mockServer()] : [])],
  server: process.env.MOCK ? {} : { proxy: { ...passed, "/ws": { target: server, ws: true } } },
  build: { target: "es2022", assetsDir: "assets", sourcemap: false, modulePreload: { polyfill: false } },
  test: { environment: "jsdom", include: ["src/**/*.test.{ts,tsx}"] },
});
