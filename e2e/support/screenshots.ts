/** Pictures of a cluster's changes, one after another, on real nodes: test-results/pictures/shown-*.png. */

import { ask, type Cluster, deleteCluster, ended, type Node, nodesOf, type Operation, orderCluster } from "./api";
import { confirmPlan, openChange, openNodeMenu, planIn } from "./cluster-page";
import { destroyMachine } from "./machines";
import { expect, picture, test } from "./test";

let cluster: Cluster;

test.describe.configure({ mode: "serial" });
test.use({ viewport: { width: 1360, height: 1000 } });

test.beforeAll(async () => {
  test.setTimeout(300_000);
  const ordered = await orderCluster("orders");
  cluster = ordered.cluster;
  expect(await ended(ordered.operation.id, 240)).toBe("succeeded");
});

test.afterAll(async () => {
  test.setTimeout(300_000);
  await deleteCluster(cluster.id);
});

test("access: who may come from where, and do what", async ({ ownerPage: page }) => {
  const path = `/clusters/${cluster.id}`;
  const networks = [
    { cidr: "127.0.0.0/8", description: "This machine" },
    { cidr: "10.20.0.0/16", description: "Services" },
  ];
  await done(await ask("PUT", `${path}/allowlist`, { entries: networks }));
  await done(await ask("POST", `${path}/roles`, { name: "readers", can_login: false, permissions: [READ] }));
  await done(await ask("POST", `${path}/roles`, { name: "orders_service", member_of: ["readers"] }));
  await page.goto(`${path}?tab=access`);
  const role = page.getByRole("row", { name: /orders_service/ });
  await role.getByText(/permission/).click();
  await picture(page, "shown-access");
});

test("node actions", async ({ ownerPage: page }) => {
  await page.goto(`/clusters/${cluster.id}`);
  await openNodeMenu(page, "orders-local-1a-1");
  await expect(page.getByRole("menuitem", { name: "Replace …" })).toBeVisible();
  await picture(page, "shown-node-actions");
});

test("a plan, and the scale-out in progress", async ({ ownerPage: page }) => {
  await page.goto(`/clusters/${cluster.id}`);
  const dialog = await openChange(page, "Scale");
  await dialog.getByLabel("Nodes per zone").fill("2");
  await planIn(dialog);
  await dialog.getByText(/^\d+ steps on/).click();
  await picture(page, "shown-plan");
  const operation = await confirmPlan(page, dialog, "Scale");
  await page.goto(`/clusters/${cluster.id}`);
  await expect(page.getByText("Joining", { exact: true })).toBeVisible();
  await picture(page, "shown-scale");
  expect(await ended(operation, 400)).toBe("succeeded");
});

test("an upgrade at its canary", async ({ ownerPage: page }) => {
  await page.goto(`/clusters/${cluster.id}`);
  const dialog = await openChange(page, "Upgrade");
  await dialog.getByRole("button", { name: /Version/ }).click();
  await page.getByRole("option", { name: "5.0.9" }).click();
  await planIn(dialog);
  await picture(page, "shown-upgrade-plan");
  const operation = await confirmPlan(page, dialog, "Upgrade");
  await expect(page.getByText(/Health: ring, errors and latency/).first()).toBeVisible();
  await expect(page.getByText("5.0.9").first()).toBeVisible();
  await expect(page.getByText(/^Canary/).first()).toBeVisible();
  await picture(page, "shown-upgrade");
  expect(await ended(operation, 500)).toBe("succeeded");
});

test("activity of a node that was healed", async ({ ownerPage: page }) => {
  await ask("PATCH", `/clusters/${cluster.id}`, { healing: { mode: "act", grace_seconds: 10 } });
  const lost = (await nodesOf(cluster.id)).at(-1) as Node;
  destroyMachine(lost.id);
  await page.goto(`/clusters/${cluster.id}?tab=activity`);
  const finding = page.getByRole("table", { name: "Findings" }).getByRole("row").filter({ hasText: lost.name });
  await expect(finding).toContainText("Replaced by a new node");
  await expect(finding).toContainText("Over");
  await picture(page, "shown-healed");
});

const READ = { resource: "data", permissions: ["SELECT"] };

async function done({ operation }: { operation: Operation }): Promise<void> {
  expect(await ended(operation.id, 120)).toBe("succeeded");
}
