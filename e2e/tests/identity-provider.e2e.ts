import { ask } from "../support/api";
import { type Claims, type Provider, signInThere, startProvider } from "../support/identity-provider";
import { instance } from "../support/instance";
import { copied, expect, expectAccessible, picture, test } from "../support/test";
import { STEP_MS, totp } from "../support/totp";

const JANE: Claims = { email: "jane@corp.example", email_verified: true, name: "Jane", groups: ["dba"] };

let provider: Provider;

test.beforeAll(async () => {
  provider = await startProvider("Corp");
});

test.afterAll(() => provider.stop());

test("people come in through an identity provider, as what their groups say", async ({ ownerPage: owner, browser }) => {
  test.setTimeout(120_000);
  const context = await browser.newContext({ baseURL: instance().url });
  const page = await context.newPage();

  await test.step("an address that nobody vouches for is told so", async () => {
    provider.people({ jane: { ...JANE, email_verified: false } });
    await page.goto("/tokens");
    await page.getByRole("button", { name: "Continue with Corp" }).click();
    await signInThere(page, "jane");
    await expect(page.getByText("does not vouch for your e-mail address")).toBeVisible();
    await expectAccessible(page);
    await picture(page, "sign-in-provider-refused");
  });

  await test.step("who is in no group that has a role sees what to do", async () => {
    provider.people({ jane: JANE });
    await page.getByRole("button", { name: "Continue with Corp" }).click();
    await expect(page.getByRole("heading", { name: "You belong to no organisation yet" })).toBeVisible();
    await expect(page.getByText("You are signed in as jane@corp.example.")).toBeVisible();
    await expectAccessible(page);
    await picture(page, "no-organisation");
    await page.getByRole("button", { name: "Sign out" }).click();
    await expect(page.getByRole("heading", { level: 1, name: "Sign in" })).toBeVisible();
  });

  await test.step("the owner gives the group a role", async () => {
    await owner.goto("/groups");
    await owner.getByRole("button", { name: "Give a group a role" }).click();
    const dialog = owner.getByRole("dialog", { name: "Give a group a role" });
    await dialog.getByLabel("Group", { exact: true }).fill("dba");
    await expectAccessible(owner);
    await picture(owner, "group-role");
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(owner.getByRole("row", { name: /dba.*Corp.*viewer/ })).toBeVisible();
    await expectAccessible(owner);
    await picture(owner, "groups");
  });

  await test.step("with it they arrive where they wanted to go", async () => {
    await page.goto("/members");
    await page.getByRole("button", { name: "Continue with Corp" }).click();
    await expect(page).toHaveURL(/\/members$/);
    const row = page.getByRole("row", { name: /jane@corp\.example/ });
    await expect(row.getByText("Groups of Corp")).toBeVisible();
    await expect(page.getByRole("button", { name: "Invite member" })).toBeDisabled();
    await expectAccessible(page);
  });

  await test.step("who has set up a second factor here is asked for it after the provider", async () => {
    await page.goto("/second-factor");
    await page.getByRole("button", { name: "Set up" }).click();
    const secret = await copied(page, "Copy secret");
    const step = Math.floor(Date.now() / STEP_MS);
    await page.getByLabel("Code", { exact: true }).fill(totp(secret, step - 1));
    await page.keyboard.press("Enter");
    const listed = page.getByRole("list", { name: "Recovery codes" }).getByRole("listitem");
    await expect(listed).toHaveCount(10);
    const [recovery = ""] = await listed.allInnerTexts();
    await page.getByRole("button", { name: "I have kept them" }).click();
    await page.getByRole("button", { name: /^Account/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();

    await page.goto("/members");
    await page.getByRole("button", { name: "Continue with Corp" }).click();
    await expect(page.getByRole("heading", { level: 1, name: "Second factor" })).toBeVisible();
    await expectAccessible(page);
    await picture(page, "sign-in-provider-second-step");
    expect((await page.request.get("/api/v1/members")).status()).toBe(401);
    await page.getByLabel("Code", { exact: true }).fill("000000");
    await page.keyboard.press("Enter");
    await expect(page.getByText("Incorrect code.")).toBeVisible();
    await page.getByLabel("Code", { exact: true }).fill(recovery);
    await page.keyboard.press("Enter");
    await expect(page).toHaveURL(/\/members$/);
    await expect(page.getByRole("row", { name: /jane@corp\.example/ }).getByText("Set up")).toBeVisible();
  });

  await test.step("passwords let owners in only, when they want that", async () => {
    await owner.getByRole("button", { name: "Refuse passwords" }).click();
    await expectAccessible(owner);
    await owner.getByRole("dialog").getByRole("button", { name: "Refuse passwords" }).click();
    await expect(owner.getByText("Passwords let owners in only.").first()).toBeVisible();
    await page.reload();
    await expect(page.getByRole("row", { name: /jane@corp\.example/ })).toBeVisible();
    await ask("PATCH", "/organisation/access-settings", { password_sign_in: true });
  });

  await test.step("when the group loses its role they lose access", async () => {
    await owner.reload();
    await owner.getByRole("button", { name: "Delete dba" }).click();
    await owner.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await expect(owner.getByText("No group has a role.", { exact: false })).toBeVisible();
    await page.goto("/clusters");
    await expect(page.getByRole("heading", { name: "You belong to no organisation yet" })).toBeVisible();
  });
  await context.close();
});
