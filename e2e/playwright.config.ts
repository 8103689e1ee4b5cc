import { defineConfig } from "@playwright/test";

// The system's chromium. As root there is no sandbox to be had; the other switches keep it from talking to the world.
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const SWITCHES = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export default defineConfig({
  testDir: "tests",
  testMatch: "**/*.e2e.ts",
  outputDir: "test-results",
  globalSetup: "./support/global-setup.ts",
  // One private installation of the whole product serves all tests, so they take turns. Two, each with a worker of its
  // own, took as long on two cores: browsers, engines and the product keep both of them busy.
  workers: 1,
  // What fails under `make test` is run once more and called flaky (decision 0046).
  retries: process.env.PLAYWRIGHT_JUNIT_OUTPUT_NAME ? 1 : 0,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  forbidOnly: true,
  reporter: process.env.PLAYWRIGHT_JUNIT_OUTPUT_NAME ? [["list"], ["junit"]] : [["list"]],
  use: {
    actionTimeout: 15_000,
    browserName: "chromium",
    launchOptions: { executablePath: CHROMIUM, args: SWITCHES },
    viewport: { width: 1360, height: 900 },
    locale: "en-GB",
    timezoneId: "UTC",
    colorScheme: "light",
    screenshot: "only-on-failure",
    // Recording costs a third of a test's time, so under `make test` only what failed is recorded when it is run again.
    trace: process.env.PLAYWRIGHT_JUNIT_OUTPUT_NAME ? "on-first-retry" : "retain-on-failure",
  },
});
