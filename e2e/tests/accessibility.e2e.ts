/** Every page, light and dark, with real things on it: no violation of WCAG 2.2 AA; and pictures to look at. */

import type { Page } from "@playwright/test";
import { type Cluster, deleteCluster, ended, type Operation, orderCluster } from "../support/api";
import { expect, expectAccessible, picture, test } from "../support/test";

let cluster: Cluster;
let operation: Operation;

test.beforeAll(async () => {
  test.setTimeout(120_000);
  ({ cluster, operation } = await orderCluster("pictured"));
  expect(await ended(operation.id)).toBe("succeeded");
});

test.afterAll(async () => {
  test.setTimeout(120_000);
  await deleteCluster(cluster.id);
});

const pages: [name: string, path: () => string, ready: (page: Page) => Promise<void>][] = [
  ["clusters", () => "/clusters", (page) => expect(page.getByRole("link", { name: "pictured" })).toBeVisible()],
  ["order", () => "/clusters/new", (page) => expect(page.getByText("Apache Cassandra")).toBeVisible()],
  [
    "cluster",
    () => `/clusters/${cluster.id}`,
    (page) => expect(page.getByRole("table", { name: "Nodes in local-1c" })).toBeVisible(),
  ],
  [
    "cluster-connect",
    () => `/clusters/${cluster.id}?tab=connect&snippet=python`,
    (page) => expect(page.getByText("load_balancing_policy")).toBeVisible(),
  ],
  [
    "cluster-activity",
    () => `/clusters/${cluster.id}?tab=activity`,
    (page) => expect(page.getByText("Succeeded")).toBeVisible(),
  ],
  ["operations", () => "/operations", (page) => expect(page.getByText("Succeeded").first()).toBeVisible()],
  [
    "operation",
    () => `/operations/${operation.id}`,
    (page) => expect(page.getByRole("heading", { name: "Steps" })).toBeVisible(),
  ],
  [
    "members",
    () => "/members",
    (page) => expect(page.getByRole("heading", { name: "Open invitations" })).toBeVisible(),
  ],
  ["tokens", () => "/tokens", (page) => expect(page.getByRole("row", { name: /bootstrap/ })).toBeVisible()],
  ["audit", () => "/audit", (page) => expect(page.getByText("cluster.create").first()).toBeVisible()],
  ["not-found", () => "/nowhere", (page) => expect(page.getByRole("heading", { level: 1 })).toBeVisible()],
];

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`${colorScheme} mode`, () => {
    test.use({ colorScheme });
    for (const [name, path, ready] of pages) {
      test(`${name} is accessible`, async ({ ownerPage: page }) => {
        await page.goto(path());
        await ready(page);
        await expect(page).toHaveTitle(/Ringmaster/);
        await expectAccessible(page);
        await picture(page, `${name}-${colorScheme}`);
      });
    }
  });
}

test("dark mode is chosen in the account menu and remembered", async ({ ownerPage: page }) => {
  await page.goto("/clusters");
  const background = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.getByRole("button", { name: /^Account/ }).click();
  await page.getByRole("menuitemcheckbox", { name: "Dark" }).click();
  await expect.poll(background).not.toBe(light);
  await page.reload();
  await expect(page.getByRole("heading", { level: 1, name: /Clusters/ })).toBeVisible();
  expect(await background()).not.toBe(light);
});

test("a narrow screen shows the same without scrolling sideways", async ({ ownerPage: page }) => {
  await page.setViewportSize({ width: 390, height: 800 });
  for (const [name, path] of [
    ["cluster-narrow", `/clusters/${cluster.id}`],
    ["connect-narrow", `/clusters/${cluster.id}?tab=connect`],
  ] as const) {
    await page.goto(path);
    await expect(page.getByRole("heading", { level: 1, name: "pictured" })).toBeVisible();
    await picture(page, name);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(overflow, name).toBeLessThanOrEqual(0);
  }
});
