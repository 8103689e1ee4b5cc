import { ask, type Cluster, ended, orderCluster } from "../support/api";
import { instance } from "../support/instance";
import { machineFolders } from "../support/remains";
import { expect, picture, test } from "../support/test";

test("without the event stream the page still follows an operation; cancelled half-way, nothing is left", async ({
  ownerPage: page,
}) => {
  test.setTimeout(120_000);
  await page.route("**/api/v1/events*", (route) => route.abort());
  const { cluster, operation } = await orderCluster("half-way");
  await page.goto(`/clusters/${cluster.id}`);
  await expect(page.getByRole("button", { name: "Reconnecting …" })).toBeVisible();
  // Proof that the page asks by itself: this is not known yet when it opens.
  await expect(
    page
      .getByText(/[1-9]\d? ?% ?/)
      .or(page.getByText("Start the engine"))
      .first(),
  ).toBeVisible();
  await expect.poll(() => machineFolders(instance().runDir).length, { timeout: 30_000 }).toBe(3);

  await page.getByRole("button", { name: "Cancel operation" }).click();
  const dialog = page.getByRole("dialog");
  await picture(page, "cancel");
  await dialog.getByRole("button", { name: "Cancel operation" }).click();
  await expect(page.getByText("Deleted", { exact: true })).toBeVisible({ timeout: 60_000 });
  await expect(page.getByRole("button", { name: "Reconnecting …" })).toBeVisible();

  expect(await ended(operation.id)).toBe("cancelled");
  expect(machineFolders(instance().runDir)).toEqual([]);
  const { items } = await ask<{ items: Cluster[] }>("GET", "/clusters");
  expect(items).toEqual([]);
  await page.goto(`/operations/${operation.id}`);
  await expect(page.getByText("Cancelled", { exact: true }).first()).toBeVisible();
  await picture(page, "cancelled");
});

test("with the event stream a change made elsewhere shows by itself", async ({ ownerPage: page }) => {
  await page.goto("/clusters");
  await expect(page.getByText("No clusters yet")).toBeVisible();
  const { cluster, operation } = await orderCluster("made-elsewhere");
  await expect(page.getByRole("link", { name: "made-elsewhere" })).toBeVisible({ timeout: 5_000 });
  await ask("POST", `/operations/${operation.id}/cancel`);
  await expect(page.getByRole("link", { name: "made-elsewhere" })).toBeHidden({ timeout: 60_000 });
  expect((await ask<Cluster>("GET", `/clusters/${cluster.id}`)).state).toBe("deleted");
});
