/** Every page, light and dark, with real things on it: no violation of WCAG 2.2 AA; and pictures to look at. */

import type { Locator, Page } from "@playwright/test";
import { type Cluster, deleteCluster, ended, type Operation, orderCluster } from "../support/api";
import { openChange, openClusterPage, openNodeAction, planIn } from "../support/cluster-page";
import { expect, expectAccessible, expectContrast, picture, test } from "../support/test";

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

/** A new node's first numbers: until it is found, asked, and the page asks again. */
const SCRAPED = { timeout: 50_000 };

const pages: [name: string, path: () => string, ready: (page: Page) => Promise<void>][] = [
  ["clusters", () => "/clusters", (page) => expect(page.getByRole("link", { name: "pictured" })).toBeVisible()],
  [
    "sizing",
    () => "/sizing?engine=cassandra&provider=aws&region=us-east-1&reads=10000&writes=5000&data=500",
    (page) => expect(page.getByRole("table", { name: "Costs at DynamoDB" })).toBeVisible(),
  ],
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
    (page) => expect(page.getByText("Succeeded", { exact: true })).toBeVisible(),
  ],
  [
    "cluster-settings",
    () => `/clusters/${cluster.id}?tab=settings`,
    (page) => expect(page.getByLabel("Compaction throughput")).toBeVisible(),
  ],
  [
    "cluster-access",
    () => `/clusters/${cluster.id}?tab=access`,
    (page) => expect(page.getByRole("heading", { name: "Database roles" })).toBeVisible(),
  ],
  [
    "cluster-tables",
    () => `/clusters/${cluster.id}?tab=tables&system=true`,
    (page) => expect(page.getByRole("link", { name: "system_auth.roles", exact: true })).toBeVisible(SCRAPED),
  ],
  [
    "cluster-dashboards",
    () => `/clusters/${cluster.id}?tab=dashboards&range=15m`,
    (page) => expect(page.getByRole("application", { name: /^Nodes up: chart/ })).toBeVisible(SCRAPED),
  ],
  [
    "table",
    () => `/clusters/${cluster.id}/tables/system_auth/roles?range=15m`,
    (page) => expect(page.getByRole("application", { name: /^SSTables: chart/ })).toBeVisible(SCRAPED),
  ],
  [
    "cluster-costs",
    () => `/clusters/${cluster.id}?tab=costs`,
    (page) => expect(page.getByRole("heading", { name: "By table" })).toBeVisible(),
  ],
  [
    "cluster-console",
    () => `/clusters/${cluster.id}?tab=console`,
    (page) => expect(page.getByRole("heading", { name: "Sign in to the database" })).toBeVisible(),
  ],
  [
    "cluster-alerts",
    () => `/clusters/${cluster.id}?tab=alerts`,
    (page) => expect(page.getByRole("row", { name: /^Node down/ })).toBeVisible(),
  ],
  [
    "cluster-advice",
    () => `/clusters/${cluster.id}?tab=advice`,
    (page) => expect(page.getByRole("heading", { name: "Advice", exact: true })).toBeVisible(),
  ],
  [
    "cluster-repairs",
    () => `/clusters/${cluster.id}?tab=repairs`,
    (page) => expect(page.getByRole("heading", { name: "Repairs", exact: true })).toBeVisible(),
  ],
  [
    "cluster-protection",
    () => `/clusters/${cluster.id}?tab=protection`,
    (page) => expect(page.getByText("No windows: automatic work may be done at any time.")).toBeVisible(),
  ],
  ["alerts", () => "/alerts", (page) => expect(page.getByText("Nobody is told yet.")).toBeVisible()],
  ["costs", () => "/costs", (page) => expect(page.getByText("Spent so far")).toBeVisible()],
  [
    "costs-savings",
    () => "/costs?view=savings",
    (page) => expect(page.getByText(/^Nothing could cost less/)).toBeVisible(),
  ],
  ["costs-invoices", () => "/costs?view=invoices", (page) => expect(page.getByText(/^In all .* USD/)).toBeVisible()],
  [
    "costs-usage",
    () => "/costs?view=usage",
    (page) => expect(page.getByRole("table", { name: "Usage records" })).toBeVisible(),
  ],
  [
    "operations",
    () => "/operations",
    (page) => expect(page.getByText("Succeeded", { exact: true }).first()).toBeVisible(),
  ],
  [
    "operation",
    () => `/operations/${operation.id}`,
    (page) => expect(page.getByRole("heading", { name: "Steps" })).toBeVisible(),
  ],
  ["cloud-accounts", () => "/cloud-accounts", (page) => expect(page.getByText("No cloud accounts yet.")).toBeVisible()],
  ["images", () => "/images", (page) => expect(page.getByText("No images registered.")).toBeVisible()],
  [
    "members",
    () => "/members",
    (page) => expect(page.getByRole("heading", { name: "Open invitations" })).toBeVisible(),
  ],
  ["tokens", () => "/tokens", (page) => expect(page.getByRole("row", { name: /bootstrap/ })).toBeVisible()],
  [
    "deletion-requests",
    () => "/deletion-requests",
    (page) => expect(page.getByText("One person is enough to delete clusters and backups.")).toBeVisible(),
  ],
  ["groups", () => "/groups", (page) => expect(page.getByText("No group has a role.", { exact: false })).toBeVisible()],
  ["audit", () => "/audit", (page) => expect(page.getByText("cluster.create").first()).toBeVisible()],
  ["not-found", () => "/nowhere", (page) => expect(page.getByRole("heading", { level: 1 })).toBeVisible()],
];

for (const [name, path, ready] of pages) {
  test(`${name} is accessible, light and dark`, async ({ ownerPage: page }) => {
    await page.goto(path());
    await ready(page);
    await expect(page).toHaveTitle(/Ringmaster/);
    const light = await background(page);
    await expectAccessible(page);
    await picture(page, `${name}-light`);
    for (const word of await page.getByText(/^(Active|Succeeded|Up)$/).all()) {
      expect.soft((await word.boundingBox())?.height ?? 0, "a state stays on one line").toBeLessThan(30);
    }
    await page.emulateMedia({ colorScheme: "dark" });
    await expect.poll(() => background(page)).not.toBe(light);
    await expectContrast(page);
    await picture(page, `${name}-dark`);
  });
}

const dialogs: [name: string, open: (page: Page) => Promise<Locator>][] = [
  [
    "machine-type",
    async (page) => {
      const dialog = await openChange(page, "Change machine type");
      await dialog.getByRole("button", { name: /Machine type/ }).click();
      await page.getByRole("option", { name: /local\.medium/ }).click();
      return dialog;
    },
  ],
  [
    "upgrade",
    async (page) => {
      const dialog = await openChange(page, "Upgrade");
      await dialog.getByRole("button", { name: /Version/ }).click();
      await page.getByRole("option", { name: "5.0.9" }).click();
      return dialog;
    },
  ],
  ["rolling-restart", (page) => openChange(page, "Rolling restart")],
  ["rotate-certificates", (page) => openChange(page, "Rotate certificates")],
  [
    "add-datacenter",
    async (page) => {
      const dialog = await openChange(page, "Add data centre");
      await dialog.getByRole("button", { name: /Region/ }).click();
      await page.getByRole("option", { name: /local-2/ }).click();
      await dialog.getByRole("checkbox", { name: "Alter the replication of the keyspaces" }).check();
      return dialog;
    },
  ],
  ["stop-node", (page) => openNodeAction(page, "pictured-local-1a-1", "Stop")],
  ["replace-node", (page) => openNodeAction(page, "pictured-local-1a-1", "Replace")],
];

for (const [name, open] of dialogs) {
  test(`the dialog ${name} shows its plan, accessibly, light and dark`, async ({ ownerPage: page }) => {
    await page.goto(`/clusters/${cluster.id}`);
    const dialog = await open(page);
    expect(await planIn(dialog)).toContain("What the application will notice");
    await expectAccessible(page);
    await picture(page, `dialog-${name}-light`);
    const light = await background(page);
    await page.emulateMedia({ colorScheme: "dark" });
    await expect.poll(() => background(page)).not.toBe(light);
    await expectContrast(page);
    await picture(page, `dialog-${name}-dark`);
  });
}

test("the dialog for a new role is accessible", async ({ ownerPage: page }) => {
  await page.goto(`/clusters/${cluster.id}?tab=access`);
  await page.getByRole("button", { name: "Create role" }).click();
  await expect(page.getByRole("dialog").getByLabel("Name", { exact: true })).toBeVisible();
  await expectAccessible(page);
  await picture(page, "dialog-create-role");
});

test("dark mode is chosen in the account menu and remembered", async ({ ownerPage: page }) => {
  await page.goto("/clusters");
  const light = await background(page);
  await page.getByRole("button", { name: /^Account/ }).click();
  await page.getByRole("menuitemcheckbox", { name: "Dark" }).click();
  await expect.poll(() => background(page)).not.toBe(light);
  await page.reload();
  await expect(page.getByRole("heading", { level: 1, name: /Clusters/ })).toBeVisible();
  expect(await background(page)).not.toBe(light);
});

test("a narrow screen shows the same without scrolling sideways", async ({ ownerPage: page }) => {
  await page.setViewportSize({ width: 390, height: 800 });
  for (const [name, path, heading] of [
    ["cluster-narrow", `/clusters/${cluster.id}`, "Facts"],
    ["connect-narrow", `/clusters/${cluster.id}?tab=connect`, "Use it"],
  ] as const) {
    await page.goto(path);
    await expect(page.getByRole("heading", { name: heading })).toBeVisible();
    await picture(page, name);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(overflow, name).toBeLessThanOrEqual(0);
  }
});

test("the pages of a cluster are reached by keyboard, and on a narrow screen from a menu", async ({
  ownerPage: page,
}) => {
  await page.goto(`/clusters/${cluster.id}`);
  const navigation = page.getByRole("navigation", { name: "Main navigation" });
  await expect(navigation.getByRole("link", { name: "Overview" })).toHaveAttribute("aria-current", "page");
  await navigation.getByRole("link", { name: "Diagnostics" }).focus();
  await page.keyboard.press("Tab");
  await expect(navigation.getByRole("link", { name: "Backups" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(`/clusters/${cluster.id}?tab=backups`);
  await expect(navigation.getByRole("link", { name: "Backups" })).toHaveAttribute("aria-current", "page");
  await expect(page).toHaveTitle(/^Backups · pictured/);
  await page.goBack();
  await expect(page.getByRole("heading", { name: "Facts" })).toBeVisible();

  await page.setViewportSize({ width: 390, height: 800 });
  await page.reload();
  await page.getByRole("button", { name: "Open navigation" }).click();
  await picture(page, "navigation-narrow");
  await expectAccessible(page);
  await openClusterPage(page, "Repairs");
  await expect(page.getByRole("heading", { name: "Repairs", exact: true })).toBeVisible();
  await expect(navigation.getByRole("link", { name: "Overview" })).toBeHidden();
});

function background(page: Page): Promise<string> {
  return page.evaluate(() => getComputedStyle(document.body).backgroundColor);
}
