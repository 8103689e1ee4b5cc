/** Repair; write, back up, lose, bring back, read: on a real cluster, through the console. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ask, type Cluster, deleteCluster, ended, orderCluster } from "../support/api";
import { CHECKOUT, instance, PYTHON } from "../support/instance";
import { expect, expectAccessible, picture, test } from "../support/test";

const ROWS = 200;

let cluster: Cluster;
let credentials: { username: string; password: string };
let bundle = "";

test.describe.configure({ mode: "serial" });

test.beforeAll(async () => {
  test.setTimeout(150_000);
  const ordered = await orderCluster("backed-up");
  cluster = ordered.cluster;
  expect(await ended(ordered.operation.id, 120)).toBe("succeeded");
  credentials = await ask("POST", `/clusters/${cluster.id}/credentials/reveal`);
  const answer = await fetch(`${instance().url}/api/v1/clusters/${cluster.id}/connection/bundle`, {
    headers: { Authorization: `Bearer ${instance().token}` },
  });
  bundle = join(mkdtempSync(join(tmpdir(), "rm-bundle-")), "bundle.zip");
  writeFileSync(bundle, Buffer.from(await answer.arrayBuffer()));
  cql(
    "CREATE KEYSPACE shop WITH replication = {'class': 'NetworkTopologyStrategy', 'local-local-1': 3}",
    "CREATE TABLE shop.orders (id int PRIMARY KEY, what text)",
    ...Array.from({ length: ROWS }, (_, id) => `INSERT INTO shop.orders (id, what) VALUES (${id}, 'order ${id}')`),
  );
});

test.afterAll(async () => {
  test.setTimeout(120_000);
  await deleteCluster(cluster.id);
});

test("a repair is followed while it runs, hurried, and says until when tables are protected", async ({
  ownerPage: page,
}) => {
  test.setTimeout(150_000);
  // With long rests between segments, so that there is something to see.
  await ask("PATCH", `/clusters/${cluster.id}/repairs/schedule`, { intensity: 15 });
  await page.goto(`/clusters/${cluster.id}?tab=repairs`);
  await expect(page.getByText("The nodes have not been asked for their tables yet")).toBeVisible();
  await page.getByRole("button", { name: "Repair now" }).click();
  const dialog = page.getByRole("dialog", { name: "Repair now" });
  await dialog.getByRole("radio", { name: "Everything" }).or(dialog.getByText("Everything")).first().click();
  await expect(dialog.getByText("so it is not known how long it will take")).toBeVisible();
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Repair", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Progress by token range and node" })).toBeVisible();
  await expect(page.getByRole("progressbar", { name: "Progress of the repair" })).toBeVisible();
  await expect(page.getByRole("img", { name: /^shop\.orders: / })).toBeVisible();
  await picture(page, "repair-map");
  await expectAccessible(page);
  await page.getByRole("slider", { name: "Intensity" }).press("End");
  await page.getByRole("button", { name: "Save the schedule of repairs" }).click();
  await expect(page.getByText("Saved. It holds at once.")).toBeVisible();
  const runs = page.getByRole("table", { name: "Runs" });
  await expect(runs.getByRole("row", { name: /Done/ })).toBeVisible({ timeout: 100_000 });
  const orders = page.getByRole("row", { name: /shop\.orders/ });
  await expect(orders.getByText(/^in \d+ d$/)).toBeVisible();
  await picture(page, "repair-protected-until");
});

test("a node is asked for its status and its log", async ({ ownerPage: page }) => {
  await page.goto(`/clusters/${cluster.id}?tab=diagnostics`);
  await expect(page.getByText("Nobody has asked anything for a day.")).toBeVisible();
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  const ring = page.getByRole("table", { name: "Ring as this node sees it" });
  await expect(ring.getByRole("row")).toHaveCount(4);
  await ring.getByRole("button", { name: /^Address/ }).press("Enter");
  await expectAccessible(page);
  await picture(page, "diagnostics-status");
  await page.goto(`/clusters/${cluster.id}?tab=diagnostics&ask=log`);
  await page.getByLabel("Lines that hold (optional)").fill("listening for cql");
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await expect(page.getByRole("region", { name: "Log" })).toContainText("Starting listening for CQL clients");
  await expectAccessible(page);
  await page.emulateMedia({ colorScheme: "dark" });
  await expectAccessible(page);
  await picture(page, "diagnostics-log-dark");
  await expect(page.getByRole("table", { name: "Asked lately" }).getByRole("row")).toHaveCount(3);
});

test("windows of repairs are shown as a calendar", async ({ ownerPage: page }) => {
  await page.goto(`/clusters/${cluster.id}?tab=repairs`);
  await page.getByRole("button", { name: "Add window" }).click();
  await page.getByRole("button", { name: "Save the schedule of repairs" }).click();
  await expect(
    page
      .getByRole("figure")
      .getByRole("img", { name: /^Sun.* to 6:00$/ })
      .last(),
  ).toBeVisible();
  await page.getByRole("figure").scrollIntoViewIfNeeded();
  await picture(page, "repair-windows");
  // At the top: elsewhere the bar above covers a part of something, which then counts as a target that is too small.
  await page.evaluate(() => window.scrollTo(0, 0));
  await expectAccessible(page);
  await page.getByRole("button", { name: "Remove window 1" }).click();
  await page.getByRole("button", { name: "Save the schedule of repairs" }).click();
  await expect(page.getByRole("figure")).toHaveCount(0);
});

test("a backup is made from the console", async ({ ownerPage: page }) => {
  test.setTimeout(120_000);
  await page.goto(`/clusters/${cluster.id}?tab=backups`);
  await expect(page.getByText("No backups yet.")).toBeVisible();
  await expect(page.getByText("Nothing is backed up by itself.")).toBeVisible();
  await expectAccessible(page);
  await picture(page, "backups-empty");
  await page.getByRole("button", { name: "Back up now" }).click();
  const dialog = page.getByRole("dialog", { name: /Back backed-up up/ });
  await expect(dialog.getByText("To upload, about")).toBeVisible();
  await expectAccessible(page);
  await picture(page, "dialog-backup");
  await dialog.getByRole("button", { name: "Back up", exact: true }).click();
  const table = page.getByRole("table", { name: "Backups" });
  await expect(table.getByText("Complete", { exact: true })).toBeVisible({ timeout: 60_000 });
  await expectAccessible(page);
});

test("a schedule is made, and says when it is due", async ({ ownerPage: page }) => {
  await page.goto(`/clusters/${cluster.id}?tab=backups`);
  await page.getByRole("button", { name: "Add schedule" }).click();
  const dialog = page.getByRole("dialog", { name: "Back up on schedule" });
  await dialog.getByLabel("Times, as cron writes them").fill("0 0 31 2 *");
  await dialog.getByRole("button", { name: "Create" }).click();
  await expect(dialog.getByText(/Bad day-of-month/).first()).toBeVisible();
  await expectAccessible(page);
  await picture(page, "dialog-schedule");
  await dialog.getByLabel("Times, as cron writes them").fill("30 2 * * *");
  await dialog.getByRole("button", { name: "Create" }).click();
  const row = page.getByRole("table", { name: "Schedules" }).getByRole("row", { name: /nightly/ });
  await expect(row.getByText("30 2 * * * (UTC)")).toBeVisible();
  await expectAccessible(page);
  await picture(page, "cluster-backups");
});

test("lost rows come back, and are read", async ({ ownerPage: page }) => {
  test.setTimeout(120_000);
  cql("TRUNCATE shop.orders", "INSERT INTO shop.orders (id, what) VALUES (9999, 'too late')");
  await page.goto(`/clusters/${cluster.id}?tab=backups`);
  await page.getByRole("button", { name: /^Restore / }).click();
  const dialog = page.getByRole("dialog", { name: /Restore from a backup/ });
  await dialog.getByRole("radio", { name: /In place of what is there/ }).check();
  await expect(dialog.getByRole("list", { name: "What is done" })).toContainText("Empty the tables");
  await expectAccessible(page);
  await picture(page, "dialog-restore");
  await dialog.getByRole("button", { name: "Restore", exact: true }).click();
  await expect(page).toHaveURL(/\/operations\/op_/);
  await expect(page.getByText("Succeeded", { exact: true }).first()).toBeVisible({ timeout: 60_000 });
  await picture(page, "operation-restore");
  const [rows = []] = cql("SELECT id, what FROM shop.orders");
  expect(rows.map(([id]) => Number(id)).sort((a, b) => a - b)).toEqual(Array.from({ length: ROWS }, (_, id) => id));
});

test("a copy comes beside the live table, and its plan to take it over says the way back", async ({
  ownerPage: page,
}) => {
  test.setTimeout(120_000);
  await page.goto(`/clusters/${cluster.id}?tab=backups`);
  await page.getByRole("button", { name: /^Restore / }).click();
  const dialog = page.getByRole("dialog", { name: /Restore from a backup/ });
  await expect(dialog.getByRole("button", { name: "Restore", exact: true })).toBeDisabled();
  await dialog.getByRole("button", { name: /^Tables/ }).click();
  await page.getByRole("option", { name: "shop.orders" }).click();
  await page.keyboard.press("Escape");
  await expect(dialog.getByRole("table", { name: "Nodes" }).getByRole("row")).toHaveCount(4);
  await picture(page, "dialog-restore-copy");
  await dialog.getByRole("button", { name: "Restore", exact: true }).click();
  await expect(page).toHaveURL(/\/operations\/op_/);
  await expect(page.getByText("Succeeded", { exact: true }).first()).toBeVisible({ timeout: 60_000 });
  await page.goto(`/clusters/${cluster.id}?tab=backups`);
  await page.getByRole("button", { name: /^Take over / }).click();
  const taking = page.getByRole("dialog", { name: "Take over what the copy shows" });
  await expect(taking.getByRole("list", { name: "What is done" })).toContainText("Back up what the tables hold now");
  await expectAccessible(page);
  await picture(page, "dialog-take-over");
  await taking.getByRole("button", { name: "Cancel" }).click();
});

test("a restore into a new cluster begins with the shape of the old one, and says what is against it", async ({
  ownerPage: page,
}) => {
  await page.goto(`/clusters/${cluster.id}?tab=backups`);
  await page.getByRole("button", { name: /^Restore / }).click();
  const dialog = page.getByRole("dialog", { name: /Restore from a backup/ });
  await dialog.getByRole("radio", { name: /^Into a new cluster/ }).check();
  const name = dialog.getByLabel("Name of the new cluster");
  await expect(name).toHaveValue("backed-up-restored");
  await expect(dialog.getByText("3 zones × 1 = 3 nodes")).toBeVisible();
  await name.fill("backed-up");
  await expect(dialog.getByText(/The new cluster cannot be ordered: .*backed-up/).first()).toBeVisible();
  await expect(dialog.getByRole("button", { name: "Restore", exact: true })).toBeDisabled();
  await name.fill("backed-up-restored");
  await expect(dialog.getByRole("list", { name: "What is done" })).toContainText("Order the new cluster");
  await expectAccessible(page);
  await picture(page, "dialog-restore-new-cluster");
});

test("a cluster is cloned, and the clone has the rows", async ({ ownerPage: page }) => {
  test.setTimeout(180_000);
  await page.goto(`/clusters/${cluster.id}?tab=backups`);
  await page.getByRole("button", { name: "Clone cluster" }).click();
  const dialog = page.getByRole("dialog", { name: "Clone backed-up" });
  await expect(dialog.getByLabel("Name of the new cluster")).toHaveValue("backed-up-clone");
  await dialog.getByRole("checkbox", { name: "local-1b" }).uncheck();
  await dialog.getByRole("checkbox", { name: "local-1c" }).uncheck();
  await expect(dialog.getByText("1 zone × 1 = 1 node")).toBeVisible();
  await expect(dialog.getByRole("list", { name: "What is done" })).toContainText("Restore the backup");
  await expectAccessible(page);
  await picture(page, "dialog-clone");
  await dialog.getByRole("button", { name: "Clone", exact: true }).click();
  await expect(page).toHaveURL(/\/operations\/op_/);
  await expect(page.getByText("Restore the backup into backed-up-clone")).toBeVisible();
  await expectAccessible(page);
  await picture(page, "operation-clone");
  await expect(page.getByText("Succeeded", { exact: true }).first()).toBeVisible({ timeout: 120_000 });
  const { items } = await ask<{ items: Cluster[] }>("GET", "/clusters?name=backed-up-clone");
  const [clone] = items;
  expect(clone?.state).toBe("active");
  const { items: restores } = await ask<{ items: { state: string; fetched_bytes: number }[] }>(
    "GET",
    `/clusters/${clone?.id}/restores`,
  );
  expect(restores.map(({ state }) => state)).toEqual(["succeeded"]);
  await deleteCluster(clone?.id ?? "");
});

test("a backup is taken out with the key, and the audit log says so", async ({ ownerPage: page }) => {
  await page.goto(`/clusters/${cluster.id}?tab=backups`);
  await page
    .getByRole("button", { name: /^Take out / })
    .first()
    .click();
  const dialog = page.getByRole("dialog", { name: "Take a backup of backed-up out" });
  await dialog.getByRole("button", { name: "Save addresses" }).click();
  // This installation keeps its backups in a folder.
  await expect(dialog.getByText("a folder has no addresses")).toBeVisible();
  await dialog.getByRole("button", { name: "Reveal key" }).click();
  await expect(dialog.getByText(/^Key [0-9a-f]{16}$/)).toBeVisible();
  await expect(dialog.getByText("open_backup open")).toBeVisible();
  await expectAccessible(page);
  await picture(page, "dialog-take-out");
  await page.goto("/audit?action=backup_key.reveal");
  await expect(page.getByRole("table", { name: "Audit records" }).getByText("backup_key.reveal").first()).toBeVisible();
});

test("drills on schedule and locations are set in dialogs, light and dark", async ({ ownerPage: page }) => {
  await page.goto(`/clusters/${cluster.id}?tab=backups`);
  const dialogs: [string, () => Promise<void>][] = [
    ["drill-schedule", () => page.getByRole("button", { name: "Drill on schedule" }).click()],
    [
      "location",
      async () => {
        await page.goto("/backups");
        await page.getByRole("button", { name: "Add location" }).click();
      },
    ],
  ];
  for (const [name, open] of dialogs) {
    await open();
    await expect(page.getByRole("dialog")).toBeVisible();
    await expectAccessible(page);
    await picture(page, `dialog-${name}-light`);
    await page.emulateMedia({ colorScheme: "dark" });
    await expectAccessible(page);
    await picture(page, `dialog-${name}-dark`);
    await page.emulateMedia({ colorScheme: "light" });
    await page.keyboard.press("Escape");
  }
});

test("a drill says what it compares before it orders anything", async ({ ownerPage: page }) => {
  await page.goto(`/clusters/${cluster.id}?tab=backups`);
  await expect(page.getByText("No restore has been proved yet.")).toBeVisible();
  await page.getByRole("button", { name: "Drill now" }).click();
  const dialog = page.getByRole("dialog", { name: "Restore drill of backed-up" });
  await dialog.getByRole("radio", { name: /One node$/ }).check();
  await expect(dialog.getByRole("list", { name: "What is compared" })).toContainText("64 slices of the ring");
  await expectAccessible(page);
  await picture(page, "dialog-drill");
  await dialog.getByRole("button", { name: "Cancel" }).click();
});

test("a purge says first what it would free", async ({ ownerPage: page }) => {
  await page.goto("/backups");
  await page.getByRole("button", { name: "Purge This installation" }).click();
  const dialog = page.getByRole("dialog", { name: "Purge This installation" });
  await expect(dialog.getByText("Freed")).toBeVisible();
  await expectAccessible(page);
  await picture(page, "dialog-purge");
  await dialog.getByRole("button", { name: "Cancel" }).click();
});

test("the organisation's page has the backup and where it lies, light and dark", async ({ ownerPage: page }) => {
  await page.goto("/backups");
  await expect(
    page.getByRole("table", { name: "Backups" }).getByRole("link", { name: "backed-up" }).first(),
  ).toBeVisible();
  const place = page.getByRole("table", { name: "Locations" }).getByRole("row", { name: /This installation/ });
  await expect(place.getByText("A folder of this installation")).toBeVisible();
  await expectAccessible(page);
  await picture(page, "backups-light");
  await page.emulateMedia({ colorScheme: "dark" });
  await expectAccessible(page);
  await picture(page, "backups-dark");
});

/** Rows of each statement, as text. */
function cql(...statements: string[]): string[][][] {
  const input = JSON.stringify({ bundle, ...credentials, statements });
  return JSON.parse(execFileSync(PYTHON, [join(CHECKOUT, "e2e/support/run_cql.py")], { input, encoding: "utf8" }));
}
