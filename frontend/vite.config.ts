import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { accent } from "./accent.plugin.ts";

// The API and the console share one origin; while developing, Vite passes on what belongs to the API.
const api = process.env.RINGMASTER_API_URL ?? "http://127.0.0.1:8000";

export default defineConfig({
  plugins: [react(), accent()],
  server: {
    proxy: Object.fromEntries(
      ["/api", "/_allauth", "/_oidc"].map((path) => [path, { target: api, changeOrigin: false }]),
    ),
  },
  build: {
    target: "es2023",
    // One map of the ring of files is enough for people who debug their own installation.
    sourcemap: false,
    chunkSizeWarningLimit: 700,
  },
  test: {
    // Tests of components name jsdom themselves; the others do not need to wait for it.
    environment: "node",
    include: ["src/**/*.test.{ts,tsx}"],
    server: { deps: { inline: [/@cloudscape-design\//] } },
  },
});
