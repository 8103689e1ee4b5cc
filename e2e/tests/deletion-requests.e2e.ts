import { ask, type Cluster, ended, newMember, orderCluster } from "../support/api";
import { openChange } from "../support/cluster-page";
import { instance } from "../support/instance";
import { expect, expectAccessible, picture, signIn, test } from "../support/test";

test("one person asks for a delete, another one confirms it, and then it goes", async ({
  ownerPage: page,
  browser,
}) => {
  test.setTimeout(180_000);
  const name = "for-two";
  const { cluster, operation } = await orderCluster(name);
  const admin = await newMember("Ada Admin", "admin");
  const context = await browser.newContext({ baseURL: instance().url });
  const second = await context.newPage();
  expect(await ended(operation.id)).toBe("succeeded");

  await page.goto("/deletion-requests");
  await page.getByRole("button", { name: "Have two people delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Turn on" }).click();
  await expect(page.getByText("Clusters and backups are deleted when a second person has confirmed it.")).toBeVisible();

  await test.step("the owner can only ask, and not confirm it", async () => {
    await page.goto(`/clusters/${cluster.id}`);
    const dialog = await openChange(page, "Delete cluster");
    await expect(dialog.getByRole("heading", { name: `Ask to delete ${name}?` })).toBeVisible();
    await expectAccessible(page);
    await picture(page, "deletion-ask");
    await dialog.getByRole("button", { name: "Ask", exact: true }).click();
    await expect(page.getByText("Its deletion waits for a second person")).toBeVisible();
    await expect(page.getByRole("button", { name: `Confirm: Delete the cluster ${name}` })).toBeDisabled();
    await expectAccessible(page);
    await picture(page, "deletion-waits");
  });

  await test.step("somebody else confirms it with the name", async () => {
    await signIn(second, admin);
    await second.goto("/deletion-requests");
    await second.getByRole("button", { name: `Confirm: Delete the cluster ${name}` }).click();
    const dialog = second.getByRole("dialog");
    const confirm = dialog.getByRole("button", { name: "Confirm", exact: true });
    await expect(confirm).toBeDisabled();
    await dialog.getByLabel(`To confirm, type ${name}`).fill(name);
    await expectAccessible(second);
    await picture(second, "deletion-confirm");
    await confirm.click();
    const row = second.getByRole("row", { name: new RegExp(name) });
    await expect(row.getByText("Confirmed", { exact: true })).toBeVisible();
    await expectAccessible(second);
    await picture(second, "deletion-requests");
  });

  await test.step("the owner sees it without asking again, and deletes", async () => {
    await expect(page.getByText("Two people want it deleted")).toBeVisible();
    const dialog = await openChange(page, "Delete cluster");
    await dialog.getByLabel(`To confirm, type ${name}`).fill(name);
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await expect(page).toHaveURL(/\/operations\/op_/);
    await expect(page.getByText("Succeeded", { exact: true }).first()).toBeVisible({ timeout: 60_000 });
    expect(await ask<Cluster>("GET", `/clusters/${cluster.id}`)).toMatchObject({ state: "deleted" });
  });

  await test.step("two turn it off again", async () => {
    await second.reload();
    await second.getByRole("button", { name: "Let one person delete", exact: true }).click();
    await second.getByRole("dialog").getByRole("button", { name: "Ask", exact: true }).click();
    await expect(second.getByText("Asked. Somebody else has to confirm it now.")).toBeVisible();
    await page.goto("/deletion-requests");
    await page.getByRole("button", { name: "Confirm: Let one person delete again" }).click();
    const { name: organisation } = await ask<{ name: string }>("GET", "/organisation");
    await page.getByRole("dialog").getByLabel(`To confirm, type ${organisation}`).fill(organisation);
    await page.getByRole("dialog").getByRole("button", { name: "Confirm", exact: true }).click();
    await page.getByRole("button", { name: "Let one person delete", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Turn off" }).click();
    await expect(page.getByText("One person is enough to delete clusters and backups.")).toBeVisible();
  });
  await context.close();
});
