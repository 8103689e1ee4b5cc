import { instance } from "../support/instance";
import { expect, expectAccessible, picture, signIn, test } from "../support/test";

test("a stranger is sent to the sign-in page and comes back to where they wanted to go", async ({ page }) => {
  await page.goto("/tokens");
  await expect(page.getByRole("heading", { level: 1, name: "Sign in" })).toBeVisible();
  await expectAccessible(page);
  await picture(page, "sign-in");
  await page.getByLabel("E-mail").fill(instance().email);
  await page.getByLabel("Password").fill(instance().password);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/tokens$/);
  await expect(page.getByRole("heading", { level: 1, name: /API tokens/ })).toBeVisible();
});

test("a wrong password says so and lets nobody in", async ({ page }) => {
  await page.goto("/sign-in");
  await page.getByLabel("E-mail").fill(instance().email);
  await page.getByLabel("Password").fill("not the password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByText(/not correct|wrong|incorrect/i).first()).toBeVisible();
  await expectAccessible(page);
  await picture(page, "sign-in-refused");
  await page.goto("/clusters");
  await expect(page.getByRole("heading", { level: 1, name: "Sign in" })).toBeVisible();
});

test("signing out ends the session for good", async ({ page, context }) => {
  await signIn(page, instance());
  const session = (await context.cookies()).find((cookie) => cookie.name === "ringmaster_session");
  expect(session).toMatchObject({ httpOnly: true, sameSite: "Lax" });
  await page.getByRole("button", { name: /^Account/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Sign in" })).toBeVisible();
  // The old cookie, as a thief would use it.
  if (session) await context.addCookies([session]);
  await page.goto("/clusters");
  await expect(page.getByRole("heading", { level: 1, name: "Sign in" })).toBeVisible();
});
