import { call } from "../support/api";
import { copied, expect, expectAccessible, picture, test } from "../support/test";

test("a token is shown once, works within its scopes, and is refused once revoked", async ({ ownerPage: page }) => {
  await page.goto("/tokens");
  await page.getByRole("button", { name: "Create token" }).click();
  const dialog = page.getByRole("dialog");
  const create = dialog.getByRole("button", { name: "Create", exact: true });
  await expect(create).toBeDisabled();
  await dialog.getByLabel("Token name").fill("read only");
  await expectAccessible(page);
  await picture(page, "token-create");
  await create.click();
  await expect(page.getByText("It is not shown again.")).toBeVisible();
  await expectAccessible(page);
  const token = await copied(page, "Copy API token");
  expect(token).toMatch(/^rmt_\S{40,}$/);
  await page.getByRole("dialog").getByRole("button", { name: "Done" }).click();
  await expect(page.getByText(token)).toBeHidden();

  expect((await call("GET", "/clusters", { token })).status).toBe(200);
  const refused = await call("DELETE", "/clusters/clu_01jzzzzzzzzzzzzzzzzzzzzzzz", { token });
  expect(refused).toMatchObject({ status: 403, body: { error: { code: "missing_scope" } } });

  const row = page.getByRole("row", { name: /read only/ });
  await expect(row.getByText(token.slice(-4))).toBeVisible();
  await page.setViewportSize({ width: 1280, height: 900 });
  const beyond = await row.getByRole("button", { name: "Revoke read only" }).evaluate((button) => {
    let scrolls: Element | null = button;
    while (scrolls && getComputedStyle(scrolls).overflowX !== "auto") scrolls = scrolls.parentElement;
    if (!scrolls) throw new Error("the table is in nothing that scrolls");
    return scrolls.scrollWidth - scrolls.clientWidth;
  });
  expect(beyond, "all columns are seen without scrolling").toBe(0);
  await picture(page, "tokens");
  await row.getByRole("button", { name: "Revoke read only" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await expect(row.getByText("Revoked", { exact: true })).toBeVisible();
  const answer = await call("GET", "/clusters", { token });
  expect(answer).toMatchObject({ status: 401, body: { error: { code: "token_revoked" } } });
});

test("a token that never was, and none at all, are refused", async () => {
  for (const token of ["rmt_nonsense", null]) {
    const answer = await call("GET", "/clusters", { token });
    expect(answer.status).toBe(401);
    expect(answer.body).toMatchObject({ error: { message: expect.any(String), hint: expect.any(String) } });
  }
});
