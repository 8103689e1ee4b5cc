import { expectDisabledBecause } from "../support/cluster-page";
import { instance } from "../support/instance";
import { copied, expect, expectAccessible, picture, signIn, test } from "../support/test";

test("an invited person joins with the link, once, and can be made a viewer and removed", async ({
  ownerPage: page,
  browser,
}) => {
  test.setTimeout(90_000);
  const email = `iris.${Date.now()}@example.com`;
  await page.goto("/members?active=false");
  await expect(page.getByText("Nobody is deactivated.")).toBeVisible();
  await page.getByRole("button", { name: "Filter by state" }).click();
  await page.getByRole("option", { name: "Active", exact: true }).click();
  await expect(page).toHaveURL(/active=true/);
  await expect(page.getByRole("row", { name: new RegExp(instance().email) })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Invite member" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("E-mail").fill(email);
  await expectAccessible(page);
  await picture(page, "invite");
  await dialog.getByRole("button", { name: "Create invitation" }).click();
  const link = await copied(page, "Copy invitation link");
  expect(link, "the secret stays out of servers' logs").toContain("#");
  await page.getByRole("dialog").getByRole("button", { name: "Done" }).click();
  await expect(page.getByRole("table", { name: "Open invitations" }).getByText(email)).toBeVisible();

  const theirs = await browser.newContext({ baseURL: instance().url });
  const them = await theirs.newPage();
  await test.step("the invited person accepts", async () => {
    await them.goto(link);
    await them.getByLabel("Your name").fill("Iris");
    await them.getByLabel("Password").fill("short");
    await them.getByRole("button", { name: "Accept invitation" }).click();
    await expect(them.getByText(/12 characters/).nth(1)).toBeVisible();
    await expectAccessible(them);
    await picture(them, "invitation-accept");
    await them.getByLabel("Password").fill("a long sentence 7");
    await them.getByRole("button", { name: "Accept invitation" }).click();
    await expect(them.getByRole("heading", { level: 1, name: /Clusters/ })).toBeVisible();
    await expect(them.getByRole("link", { name: "Order cluster" })).toBeVisible();
  });

  await test.step("the link works once", async () => {
    const again = await browser.newContext({ baseURL: instance().url });
    const late = await again.newPage();
    await late.goto(link);
    await expect(late.getByText("The invitation cannot be used")).toBeVisible();
    await again.close();
  });

  await test.step("a role that changes counts at once", async () => {
    await page.reload();
    await page.getByRole("button", { name: `Actions for ${email}` }).click();
    await page.getByRole("menuitem", { name: "Change role …" }).click();
    await page.getByRole("dialog").getByLabel("Role").click();
    await page.getByRole("option", { name: /viewer/i }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Change role" }).click();
    await expect(page.getByRole("row", { name: new RegExp(email) })).toContainText(/viewer/i);
    await them.reload();
    await expect(them.getByRole("button", { name: "Order cluster" })).toBeDisabled();
    await picture(page, "members");
  });

  await test.step("a removed member is out at once", async () => {
    await page.getByRole("button", { name: `Actions for ${email}` }).click();
    await page.getByRole("menuitem", { name: "Remove …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
    await expect(page.getByRole("row", { name: new RegExp(email) })).toBeHidden();
    const session = await them.request.get("/api/v1/clusters");
    expect([401, 403, 404]).toContain(session.status());
  });
  await theirs.close();
});

test("the last owner cannot be removed, and reads why", async ({ page }) => {
  await signIn(page, instance());
  await page.goto("/members");
  await page.getByRole("button", { name: `Actions for ${instance().email}` }).click();
  await expectDisabledBecause(page, page.getByRole("menuitem", { name: "Remove …" }), /owner/i);
  await expectAccessible(page);
});
