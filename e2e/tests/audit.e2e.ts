import { ask, ended, orderCluster } from "../support/api";
import { instance } from "../support/instance";
import { expect, expectAccessible, picture, test } from "../support/test";

test("every change is in the audit log: who, what, from where, before and after, and no secret", async ({
  ownerPage: page,
}) => {
  test.setTimeout(120_000);
  const made = await ask<{ token: { id: string }; secret: string }>("POST", "/tokens", {
    name: "for the audit",
    scopes: ["clusters:read"],
  });
  await ask("DELETE", `/tokens/${made.token.id}`);
  const { cluster, operation } = await orderCluster("audited");
  await ask("POST", `/operations/${operation.id}/cancel`);
  await ended(operation.id);

  await page.goto("/audit");
  const table = page.getByRole("table", { name: "Audit records" });
  for (const [action, target] of [
    ["token.create", "for the audit"],
    ["token.revoke", "for the audit"],
    ["cluster.create", "audited"],
    ["operation.cancel", ""],
  ] as const) {
    const row = table.getByRole("row").filter({ hasText: action }).filter({ hasText: target }).first();
    await expect(row).toContainText(instance().email);
    await expect(row).toContainText("127.0.0.1");
  }
  const creation = table.getByRole("row").filter({ hasText: "cluster.create" }).filter({ hasText: "audited" });
  await creation.getByText("Before and after").click();
  await expect(table.getByText('"machine_type": "local.small"').first()).toBeVisible();
  await expectAccessible(page);
  await picture(page, "audit");
  expect(await page.content()).not.toContain(made.secret);

  await page.getByRole("combobox", { name: "Find audit records" }).fill("audited");
  await page.keyboard.press("Enter");
  await expect(table.getByRole("row").filter({ hasText: "token.create" })).toHaveCount(0);
  await expect(table.getByRole("row").filter({ hasText: "cluster.create" }).first()).toContainText("audited");
  await expect(page.getByText("records are tied by hashes")).toBeVisible();
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByRole("menuitem", { name: "JSON lines" }).click();
  expect((await saved).suggestedFilename()).toBe("audit.jsonl");
  await picture(page, "audit-found");

  await page.goto(`/audit?target_id=${cluster.id}`);
  await expect(table.getByRole("row").filter({ hasText: "cluster.create" })).toHaveCount(1);
  await expect(table.getByRole("row").filter({ hasText: "token.create" })).toHaveCount(0);
});
