import { defineConfig } from "@playwright/test";
import tests from "./playwright.config";

/** No test, but the way to pictures of the console at work: npx playwright test -c screenshots.config.ts */
export default defineConfig(tests, {
  testDir: "support",
  testMatch: "screenshots.ts",
  timeout: 600_000,
  expect: { timeout: 180_000 },
});
