/** CQL in the browser: as a role, reading only at first, with a trace, a file and a history. */

import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { ask, type Cluster, deleteCluster, ended, orderCluster } from "../support/api";
import { openClusterPage } from "../support/cluster-page";
import { expect, expectAccessible, picture, test } from "../support/test";

let cluster: Cluster;
let credentials: { username: string; password: string };

test.describe.configure({ mode: "serial" });

test.beforeAll(async () => {
  test.setTimeout(150_000);
  const ordered = await orderCluster("console", { zones: ["local-1a"] });
  cluster = ordered.cluster;
  expect(await ended(ordered.operation.id, 120)).toBe("succeeded");
  credentials = await ask("POST", `/clusters/${cluster.id}/credentials/reveal`);
});

test.afterAll(async () => {
  test.setTimeout(120_000);
  await deleteCluster(cluster.id);
});

test("a wrong password is told in the engine's words", async ({ ownerPage: page }) => {
  await signInToDatabase(page, "wrong-password");
  await expect(page.getByText("bad-credentials").first()).toBeVisible({ timeout: 20_000 });
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { name: "Sign in to the database" })).toBeVisible();
});

test("a statement is run, traced, refused while read-only, and its rows become a file", async ({ ownerPage: page }) => {
  test.setTimeout(120_000);
  await signInToDatabase(page, credentials.password);
  await run(page, "SELECT key, cluster_name, tokens FROM system.local");
  const rows = page.getByRole("grid", { name: "Rows" });
  await expect(rows.getByRole("gridcell", { name: "local", exact: true })).toBeVisible({ timeout: 20_000 });
  await expectAccessible(page);
  await picture(page, "console-light");

  await run(page, "CREATE KEYSPACE shop WITH replication = {'class': 'NetworkTopologyStrategy', 'local-local-1': 1}");
  await expect(page.getByText(/CREATE may change something/).first()).toBeVisible();
  await page.getByText("Allow writes", { exact: true }).click();
  await expect(page.getByText(/there is no way back but a backup/)).toBeVisible();
  await runUntilDone(
    page,
    "CREATE KEYSPACE shop WITH replication = {'class': 'NetworkTopologyStrategy', 'local-local-1': 1}",
  );
  await runUntilDone(page, "CREATE TABLE shop.orders (id int PRIMARY KEY, what text)");
  await runUntilDone(page, "INSERT INTO shop.orders (id, what) VALUES (1, 'a \"book\"')");
  await runUntilDone(page, "INSERT INTO shop.orders (id) VALUES (2)");

  await page.getByText("Tracing", { exact: true }).click();
  await run(page, "SELECT id, what FROM shop.orders WHERE id = 1");
  await expect(page.getByRole("region", { name: "Time line" })).toBeVisible({ timeout: 20_000 });
  await expect(page.getByRole("table", { name: "Events" }).getByRole("row")).not.toHaveCount(1);
  await page.emulateMedia({ colorScheme: "dark" });
  await expectAccessible(page);
  await picture(page, "console-trace-dark");

  await page.getByText("Tracing", { exact: true }).click();
  await run(page, "SELECT id, what FROM shop.orders");
  await page.getByRole("tab", { name: "Result" }).click();
  await expect(rows.getByRole("gridcell", { name: 'a "book"' })).toBeVisible({ timeout: 20_000 });
  await expect(rows.getByRole("gridcell", { name: "null", exact: true })).toBeVisible();
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV" }).click();
  const text = readFileSync(await (await saved).path(), "utf8");
  expect(text).toContain("id,what");
  expect(text).toContain('1,"a ""book"""');

  await page.getByRole("tab", { name: "History" }).click();
  await expect(page.getByText("SELECT id, what FROM shop.orders WHERE id = 1").first()).toBeVisible();
  await picture(page, "console-history-dark");
});

async function signInToDatabase(page: Page, password: string): Promise<void> {
  await page.goto(`/clusters/${cluster.id}`);
  await openClusterPage(page, "CQL console");
  await page.getByLabel("Role").fill(credentials.username);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(page.getByRole("textbox", { name: "CQL" })).toBeVisible();
}

async function run(page: Page, statement: string): Promise<void> {
  // The answer may be here before the page shows it, and until then it takes no other statement.
  await expect(page.getByRole("button", { name: "Cancel", exact: true })).toBeHidden({ timeout: 20_000 });
  const editor = page.getByRole("textbox", { name: "CQL" });
  await editor.fill(statement);
  await editor.press("Control+Enter");
}

async function runUntilDone(page: Page, statement: string): Promise<void> {
  const answered = page.waitForResponse(
    async (response) =>
      /\/cql\/statements\/cql_\w+$/.test(response.url()) && (await response.json()).state === "answered",
    { timeout: 30_000 },
  );
  await run(page, statement);
  await answered;
}
