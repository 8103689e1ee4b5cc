import { instance } from "../support/instance";
import { expect, expectAccessible, picture, signIn, test } from "../support/test";

test("a person sees where they are signed in and ends the other browser", async ({ ownerPage: page, browser }) => {
  const other = await browser.newContext({ baseURL: instance().url });
  const there = await other.newPage();
  await signIn(there, instance());

  await page.goto("/sessions");
  const table = page.getByRole("table", { name: "Sessions" });
  await expect(table.getByText("This one")).toHaveCount(1);
  await expect(table.getByRole("row").filter({ hasText: "127.0.0.1" }).first()).toBeVisible();
  await expectAccessible(page);
  await picture(page, "sessions");
  await page.getByRole("button", { name: "End all others" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End all others" }).click();
  await expect(page.getByText(/Sessions ended: \d+/)).toBeVisible();
  await expect(table.getByRole("row")).toHaveCount(2);

  await there.goto("/clusters");
  await expect(there.getByRole("heading", { level: 1, name: "Sign in" })).toBeVisible();
  await other.close();
});

test("an administrator sees where a member is signed in", async ({ ownerPage: page }) => {
  await page.goto("/members");
  await page.getByRole("button", { name: `Actions for ${instance().email}` }).click();
  await page.getByRole("menuitem", { name: "Sessions …" }).click();
  const dialog = page.getByRole("dialog", { name: `Sessions of ${instance().email}` });
  await expect(dialog.getByText("This one")).toHaveCount(1);
  await expect(dialog.getByRole("button", { name: "End all" })).toBeEnabled();
  await expectAccessible(page);
  await picture(page, "member-sessions");
});
