import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { ask, newMember, type Person } from "../support/api";
import { CHECKOUT, instance, PYTHON } from "../support/instance";
import { copied, expect, expectAccessible, expectContrast, picture, signIn, test } from "../support/test";
import { STEP_MS, totp } from "../support/totp";

const now = () => Math.floor(Date.now() / STEP_MS);

/** Up to the second step. */
async function sendPassword(page: Page, { email, password }: Person): Promise<void> {
  await page.goto("/");
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Second factor" })).toBeVisible();
}

async function sendCode(page: Page, code: string): Promise<void> {
  await page.getByLabel("Code", { exact: true }).fill(code);
  await page.keyboard.press("Enter");
}

test("people have a second factor, the organisation requires it, and an administrator resets one", async ({
  browser,
}) => {
  test.setTimeout(180_000);
  const admin = await newMember("Fay Factor", "admin");
  const member = await newMember("Max Member", "operator");
  const context = await browser.newContext({ baseURL: instance().url });
  const page = await context.newPage();
  const other = await browser.newContext({ baseURL: instance().url });
  const there = await other.newPage();
  let secret = "";
  let recovery: string[] = [];
  let usedStep = 0;

  /** The app's code, when its last one was used: of the next step where that one has not begun. */
  async function freshCode(): Promise<string> {
    usedStep = Math.max(usedStep + 1, now());
    await expect.poll(() => now() + 1, { timeout: 40_000 }).toBeGreaterThanOrEqual(usedStep);
    return totp(secret, usedStep);
  }

  await test.step("one is set up with an app", async () => {
    await signIn(page, admin);
    await page.getByRole("button", { name: /^Account/ }).click();
    await page.getByRole("menuitem", { name: "Second factor" }).click();
    await expect(page.getByText("Not set up")).toBeVisible();
    await page.getByRole("button", { name: "Set up" }).click();
    await expect(page.getByRole("img", { name: "QR code of the secret" })).toBeVisible();
    await expectAccessible(page);
    await picture(page, "second-factor-set-up");
    await page.emulateMedia({ colorScheme: "dark" });
    await expectContrast(page);
    await picture(page, "second-factor-set-up-dark");
    await page.emulateMedia({ colorScheme: "light" });
    secret = await copied(page, "Copy secret");
    await sendCode(page, "000000");
    await expect(page.getByText("This is not the code that the app shows now.")).toBeVisible();
    usedStep = now() - 1;
    await sendCode(page, totp(secret, usedStep));
    const dialog = page.getByRole("dialog", { name: "Recovery codes" });
    const listed = dialog.getByRole("list", { name: "Recovery codes" }).getByRole("listitem");
    await expect(listed).toHaveCount(10);
    recovery = await listed.allInnerTexts();
    await expectAccessible(page);
    await picture(page, "recovery-codes");
    await dialog.getByRole("button", { name: "I have kept them" }).click();
    await expect(page.getByText("Unused: 10")).toBeVisible();
    await expectAccessible(page);
    await picture(page, "second-factor");
  });

  await test.step("signing in takes a code, once", async () => {
    await page.getByRole("button", { name: /^Account/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await sendPassword(page, admin);
    await expect(page.getByLabel("Code", { exact: true })).toBeFocused();
    await expect(page.getByLabel("Code", { exact: true })).toHaveAttribute("autocomplete", "one-time-code");
    await expectAccessible(page);
    await picture(page, "sign-in-second-step");
    const code = await freshCode();
    await sendCode(page, totp(secret, now() + 1000));
    await expect(page.getByText("Incorrect code.")).toBeVisible();
    await sendCode(page, code);
    await expect(page.getByRole("heading", { level: 1, name: /Clusters/ })).toBeVisible();

    await sendPassword(there, admin);
    await sendCode(there, code);
    await expect(there.getByText("Incorrect code.")).toBeVisible();
    await sendCode(there, recovery[0] ?? "");
    await expect(there.getByRole("heading", { level: 1, name: /Clusters/ })).toBeVisible();
    await there.goto("/second-factor");
    await expect(there.getByText("Unused: 9")).toBeVisible();
    await there.getByRole("button", { name: /^Account/ }).click();
    await there.getByRole("menuitem", { name: "Sign out" }).click();
    await expect(there.getByRole("heading", { level: 1, name: "Sign in" })).toBeVisible();
  });

  await test.step("who is signed in without one is led to set one up when the organisation requires it", async () => {
    await signIn(there, member);
    await page.goto("/members");
    await page.getByRole("button", { name: "Require a second factor" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Turn on" }).click();
    await expect(
      page.getByText("Who signs in without a second factor sees nothing of the organisation."),
    ).toBeVisible();
    await expect(page.getByRole("row", { name: new RegExp(admin.email) }).getByText("Set up")).toBeVisible();
    await expectAccessible(page);
    await picture(page, "members-second-factor");

    await there.getByRole("link", { name: "Operations" }).click();
    await expect(there.getByText("requires a second factor")).toBeVisible({ timeout: 15_000 });
    await expectAccessible(there);
    await picture(there, "second-factor-needed");
    await there.goto("/clusters");
    await expect(there.getByRole("heading", { level: 1, name: "Second factor" })).toBeVisible();
    await there.getByRole("button", { name: "Set up" }).click();
    const theirs = await copied(there, "Copy secret");
    await sendCode(there, totp(theirs, now()));
    await there.getByRole("button", { name: "I have kept them" }).click();
    await expect(there.getByRole("heading", { level: 1, name: /Clusters/ })).toBeVisible();
  });

  await test.step("an administrator resets it, and the member is signed out", async () => {
    await page.reload();
    await page.getByRole("button", { name: `Actions for ${member.email}` }).click();
    await page.getByRole("menuitem", { name: "Reset factor …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Reset" }).click();
    await expect(page.getByText(`${member.email} signs in with the password alone now.`)).toBeVisible();
    await there.goto("/clusters");
    await expect(there.getByRole("heading", { level: 1, name: "Sign in" })).toBeVisible();
  });

  await test.step("a browser that was left open is asked for the password before new recovery codes", async () => {
    execFileSync(PYTHON, [join(CHECKOUT, "e2e/support/age_sign_in.py"), instance().runDir, admin.email]);
    await page.goto("/second-factor");
    await page.getByRole("button", { name: "Make new ones" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Make new ones" }).click();
    const dialog = page.getByRole("dialog", { name: "Your password, please" });
    await expect(dialog.getByLabel("Password")).toBeFocused();
    await expect(dialog.getByRole("button", { name: "Continue" })).toBeDisabled();
    await expectAccessible(page);
    await picture(page, "password-again");
    await dialog.getByLabel("Password").fill("not the password");
    await dialog.getByRole("button", { name: "Continue" }).click();
    await expect(dialog.getByText("Incorrect password.")).toBeVisible();
    await expect(page.getByRole("dialog", { name: "Recovery codes" })).toBeHidden();
    await dialog.getByLabel("Password").fill(admin.password);
    await page.keyboard.press("Enter");
    const codes = page.getByRole("dialog", { name: "Recovery codes" });
    const listed = codes.getByRole("list", { name: "Recovery codes" }).getByRole("listitem");
    await expect(listed).toHaveCount(10);
    expect(await listed.allInnerTexts()).not.toEqual(recovery);
    await codes.getByRole("button", { name: "I have kept them" }).click();
    await expect(page.getByText("Unused: 10")).toBeVisible();
    await page.goto("/members");
  });

  await test.step("it is turned off and removed", async () => {
    await page.getByRole("button", { name: "Do not require a second factor" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Turn off" }).click();
    await expect(page.getByText("A second factor is not required.")).toBeVisible();
    await page.goto("/second-factor");
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await expect(page.getByText("Not set up")).toBeVisible();
    const { items } = await ask<{ items: { action: string }[] }>("GET", "/audit?limit=50");
    const words = new Set(items.map(({ action }) => action));
    for (const word of ["second_factor.add", "second_factor.reset", "second_factor.remove", "sign_in.failed"])
      expect(words).toContain(word);
  });
  await context.close();
  await other.close();
});

test.afterEach(async () => {
  // A test that failed must not lock the others' people out.
  await ask("PATCH", "/organisation/access-settings", { second_factor_required: false });
});
