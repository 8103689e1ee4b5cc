/** A living cluster is changed, guarded and healed from the console. Serial: each part leaves the ring whole. */

import { ask, type Cluster, call, deleteCluster, ended, type Node, nodesOf, orderCluster } from "../support/api";
import {
  closeMenu,
  confirmPlan,
  expectDisabledBecause,
  expectSucceeded,
  openChange,
  openClusterPage,
  openNodeAction,
  openNodeMenu,
  planIn,
} from "../support/cluster-page";
import { destroyMachine, engineProcess } from "../support/machines";
import { expect, expectAccessible, picture, test } from "../support/test";

// One of three zones that can lose a node, and one of a single node that grows.
let three: Cluster;
let one: Cluster;

test.describe.configure({ mode: "serial" });

test.beforeAll(async () => {
  test.setTimeout(180_000);
  const orders = [await orderCluster("changing"), await orderCluster("growing", { zones: ["local-1a"] })];
  for (const { operation } of orders) expect(await ended(operation.id, 150)).toBe("succeeded");
  [three, one] = orders.map(({ cluster }) => cluster) as [Cluster, Cluster];
});

test.afterAll(async () => {
  test.setTimeout(180_000);
  await Promise.all([three, one].map((cluster) => deleteCluster(cluster.id)));
});

test("a plan says what would happen, or with numbers why it cannot", async ({ ownerPage: page }) => {
  await page.goto(`/clusters/${three.id}`);
  const dialog = await openChange(page, "Scale");
  const scale = dialog.getByRole("button", { name: "Scale", exact: true });
  await expectDisabledBecause(page, scale, "Choose another number of nodes.");

  const perZone = dialog.getByLabel("Nodes per zone");
  await perZone.fill("2");
  await expect(dialog.getByText("3 zones × 2 = 6 nodes, now 3 nodes")).toBeVisible();
  const plan = await planIn(dialog);
  expect(plan).toContain("Nodes join or leave, one at a time");
  expect(plan).toMatch(/Takes about\s+(\d+ min )?\d+ s/);
  expect(plan).toContain("Afterwards each node owns 1/2 of its zone's data instead of 1/1.");
  await dialog.getByText(/^\d+ steps on \d nodes$/).click();
  const steps = dialog.getByRole("listitem").filter({ hasText: "Join the ring" });
  for (const zone of ["local-1a", "local-1b", "local-1c"]) await expect(steps).toContainText(`changing-${zone}-2`);
  await expect(scale).toBeEnabled();
  await expectAccessible(page);
  await picture(page, "plan-scale");

  await perZone.fill("30");
  const refusal = /local-1 has room for \d+ (more )?nodes? of type local\.small.*87/;
  await expect(dialog.getByText(refusal).first()).toBeVisible();
  await expectDisabledBecause(page, scale, refusal);
  await expectAccessible(page);
  await picture(page, "plan-refused");

  await perZone.fill("0");
  await expectDisabledBecause(page, scale, "Enter a whole number from 1.");
  await dialog.getByRole("button", { name: "Cancel", exact: true }).click();
  await expect(dialog).toBeHidden();
  expect((await ask<Cluster>("GET", `/clusters/${three.id}`)).current_operation).toBeNull();
});

test("scale out: the new node is seen joining, with progress and time left, and then is up", async ({
  ownerPage: page,
}) => {
  test.setTimeout(180_000);
  await page.goto(`/clusters/${one.id}`);
  const dialog = await openChange(page, "Scale");
  await dialog.getByLabel("Nodes per zone").fill("2");
  const operation = await confirmPlan(page, dialog, "Scale");
  await expect(page.getByText(/about .* left/).first()).toBeVisible();

  await page.goto(`/clusters/${one.id}`);
  await expect(page.getByRole("heading", { name: "In progress" })).toBeVisible();
  const joining = page.getByRole("row", { name: /growing-local-1a-2/ });
  await expect(joining.getByText("Joining", { exact: true })).toBeVisible({ timeout: 90_000 });
  await expectAccessible(page);
  await picture(page, "scale-in-progress");

  await expect(joining.getByText("Up", { exact: true })).toBeVisible({ timeout: 120_000 });
  expect(await ended(operation, 60)).toBe("succeeded");
  await expect(page.getByRole("heading", { name: "local-1a (2 of 2 up)" })).toBeVisible();
  await expect(page.getByRole("heading", { name: "In progress" })).toBeHidden();
});

test("restart of one node, from its menu", async ({ ownerPage: page }) => {
  test.setTimeout(120_000);
  const [node] = await nodesOf(three.id);
  if (!node) throw new Error("the cluster has no nodes");
  const before = engineProcess(node.id);
  await page.goto(`/clusters/${three.id}`);
  await openNodeMenu(page, node.name);
  await expectDisabledBecause(
    page,
    page.getByRole("menuitem", { name: "Start …", exact: true }),
    /is up|runs already/i,
  );
  await picture(page, "node-actions");
  await closeMenu(page);

  const dialog = await openNodeAction(page, node.name, "Restart");
  expect(await planIn(dialog)).toMatch(/2 of 3 replicas stay up, .*2/);
  await expectAccessible(page);
  await picture(page, "plan-restart");
  await confirmPlan(page, dialog, "Restart");
  await expect(page.getByRole("heading", { level: 1 })).toContainText(/restart/i);
  await expectSucceeded(page, 90);
  expect(engineProcess(node.id)).not.toBe(before);
});

test("rolling restart: paused between two nodes, resumed, and then every node is new", async ({ ownerPage: page }) => {
  test.setTimeout(240_000);
  const nodes = await nodesOf(three.id);
  const before = nodes.map(({ id }) => engineProcess(id));
  const restarted = () => nodes.filter(({ id }, at) => engineProcess(id) !== before[at]).length;
  await page.goto(`/clusters/${three.id}`);
  const dialog = await openChange(page, "Rolling restart");
  expect(await planIn(dialog)).toContain("Rolling, one node at a time");
  await confirmPlan(page, dialog, "Restart");
  const address = page.url();
  await page.getByRole("button", { name: "Pause" }).click();
  await expect(page.getByText("Paused", { exact: true }).first()).toBeVisible({ timeout: 90_000 });
  expect(restarted(), "it does not stop half-way through a node, and not at the end").toBeLessThan(3);
  await expectAccessible(page);
  await picture(page, "paused");

  await page.goto(`/clusters/${three.id}`);
  await page.getByRole("button", { name: "Change", exact: true }).click();
  const scale = page.getByRole("menuitem", { name: "Scale …" });
  await expectDisabledBecause(page, scale, "It is being restarted node by node.");

  await page.goto(address);
  await page.getByRole("button", { name: "Resume" }).click();
  await expectSucceeded(page, 180);
  expect(restarted()).toBe(3);
});

test("an engine setting is reviewed and takes effect without a restart", async ({ ownerPage: page }) => {
  test.setTimeout(90_000);
  const before = (await nodesOf(three.id)).map(({ id }) => engineProcess(id));
  await page.goto(`/clusters/${three.id}?tab=settings`);
  await page.getByRole("searchbox", { name: "Find a setting" }).fill("compaction throughput");
  const value = page.getByLabel("Compaction throughput");
  await value.fill("5000");
  await page.getByRole("button", { name: "Review changes" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByText(/4,?096/).first()).toBeVisible();
  await expect(dialog.getByRole("button", { name: "Apply" })).toBeDisabled();
  await picture(page, "setting-refused");
  await dialog.getByRole("button", { name: "Cancel", exact: true }).click();

  await value.fill("32");
  await page.getByRole("button", { name: "Review changes" }).click();
  await expect(dialog.getByText("Compaction throughput: engine's own → 32 MiB/s")).toBeVisible();
  expect(await planIn(dialog)).toContain("In place, nothing is restarted");
  await expectAccessible(page);
  await picture(page, "plan-settings");
  await confirmPlan(page, dialog, "Apply");
  await expectSucceeded(page, 60);

  await page.goto(`/clusters/${three.id}?tab=settings`);
  await expect(page.getByLabel("Compaction throughput")).toHaveValue("32");
  await expect(page.getByRole("button", { name: "Review changes" })).toBeDisabled();
  expect((await nodesOf(three.id)).map(({ id }) => engineProcess(id))).toEqual(before);
});

test("a protected cluster cannot be deleted until the protection is switched off", async ({ ownerPage: page }) => {
  await page.goto(`/clusters/${three.id}?tab=protection`);
  const protection = page.getByRole("checkbox", { name: "Protect this cluster against deletion" });
  await protection.check();
  await expect(page.getByText("Saved.")).toBeVisible();
  await page.getByRole("button", { name: "Change", exact: true }).click();
  const remove = page.getByRole("menuitem", { name: "Delete cluster …" });
  await expectDisabledBecause(page, remove, /protected against termination/);
  await picture(page, "protected");
  await closeMenu(page);
  expect(await call("DELETE", `/clusters/${three.id}`)).toMatchObject({ status: 409 });

  await protection.uncheck();
  const dialog = await openChange(page, "Delete cluster");
  await dialog.getByRole("button", { name: "Cancel", exact: true }).click();
});

test("a cluster gets another name, tags and a maintenance window", async ({ ownerPage: page }) => {
  await page.goto(`/clusters/${three.id}?tab=protection`);
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("Not a name");
  await page.getByRole("button", { name: "Save name and tags" }).click();
  await expect(name).toHaveAttribute("aria-invalid", "true");
  await name.fill("changed");
  await page.getByRole("button", { name: "Add tag" }).click();
  await page.getByLabel("Key of tag 1").fill("team");
  await page.getByLabel("Value of tag 1").fill("orders");
  await page.getByRole("button", { name: "Save name and tags" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "changed" })).toBeVisible();

  await expect(page.getByText("No windows: automatic work may be done at any time.")).toBeVisible();
  await page.getByRole("button", { name: "Add window" }).click();
  await page.getByLabel("Minutes of window 1").fill("0");
  await page.getByRole("button", { name: "Save maintenance windows" }).click();
  await expect(page.getByLabel("Minutes of window 1")).toHaveAttribute("aria-invalid", "true");
  await expect(page.getByText(/greater than or equal to 15/).first()).toBeVisible();
  await page.getByLabel("Minutes of window 1").fill("90");
  await page.getByLabel("Excluded dates of window 1").fill("2030-12-24, 2030-12-31");
  await page.getByRole("button", { name: "Save maintenance windows" }).click();
  await expect(page.getByText(/The next one opens|A window is open now/)).toBeVisible();
  await picture(page, "protection");

  await page.reload();
  await expect(page.getByLabel("Minutes of window 1")).toHaveValue("90");
  await expect(page.getByLabel("Excluded dates of window 1")).toHaveValue("2030-12-24, 2030-12-31");
  await expectAccessible(page);
  await openClusterPage(page, "Overview");
  await expect(page.getByText("team: orders")).toBeVisible();
});

test("self-healing: a node whose machine is lost is replaced by itself, and Activity says so", async ({
  ownerPage: page,
}) => {
  test.setTimeout(240_000);
  await page.goto(`/clusters/${three.id}?tab=protection`);
  await page.getByLabel("Grace time in seconds").fill("10");
  await page.getByRole("button", { name: "Save self-healing" }).click();
  await expect(page.getByText("Saved.")).toBeVisible();
  const lost = (await nodesOf(three.id)).at(-1) as Node;
  destroyMachine(lost.id);

  await openClusterPage(page, "Activity");
  // This machine's disk may be worth a finding of its own.
  const rows = page.getByRole("table", { name: "Findings" }).getByRole("row");
  const finding = rows.filter({ hasText: lost.name }).filter({ hasText: "is down" });
  await expect(finding).toContainText("Open", { timeout: 60_000 });
  await expect(finding).toContainText(/Replaced by a new node on a new machine, after \d+ s\./, { timeout: 90_000 });
  await expectAccessible(page);
  await picture(page, "finding-open");
  await finding.getByRole("link", { name: /operation/i }).click();
  await expect(page.getByText("Take over the data of the old node").first()).toBeVisible();
  await expectSucceeded(page, 150);

  await page.goto(`/clusters/${three.id}`);
  await expect(page.getByRole("heading", { name: `${lost.zone} (1 of 1 up)` })).toBeVisible();
  await expect(page.getByRole("row", { name: new RegExp(lost.name) })).toBeHidden();
  await openClusterPage(page, "Activity");
  await expect(finding).toContainText("Over", { timeout: 30_000 });
  await picture(page, "finding-over");
});
