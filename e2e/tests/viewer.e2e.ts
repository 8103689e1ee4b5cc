import { ask, type Cluster, call, ended, newMember, orderCluster } from "../support/api";
import { closeMenu, expectDisabledBecause } from "../support/cluster-page";
import { expect, expectAccessible, picture, signIn, test } from "../support/test";

test("a viewer sees everything, and reads why they may not order or delete", async ({ page }) => {
  test.setTimeout(120_000);
  const viewer = await newMember("Vera Viewer", "viewer");
  const { cluster, operation } = await orderCluster("looked-at");
  await signIn(page, viewer);

  const order = page.getByRole("button", { name: "Order cluster" });
  await expect(order).toBeDisabled();
  await order.hover();
  await expect(page.getByRole("tooltip").getByText("Your role may look at clusters but not order them.")).toBeVisible();
  await expectAccessible(page);
  await picture(page, "viewer");

  await page.getByRole("link", { name: "looked-at" }).click();
  await page.getByRole("button", { name: "Change", exact: true }).click();
  for (const entry of ["Scale …", "Delete cluster …"]) {
    await expectDisabledBecause(
      page,
      page.getByRole("menuitem", { name: entry }),
      "Your role or token may not change clusters.",
    );
  }
  await closeMenu(page);
  await expect(page.getByRole("button", { name: "Cancel operation" })).toBeDisabled();
  const cookies = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
  const refused = await page.request.delete(`/api/v1/clusters/${cluster.id}`, {
    headers: { cookie: cookies, "X-CSRFToken": cookies.match(/ringmaster_csrf=([^;]+)/)?.[1] ?? "" },
  });
  expect(refused.status()).toBe(403);
  expect(await refused.json()).toMatchObject({ error: { code: "forbidden", hint: expect.stringContaining("owner") } });

  await ask("POST", `/operations/${operation.id}/cancel`);
  await ended(operation.id);
  expect((await call("GET", `/clusters/${cluster.id}`)).body as Cluster).toMatchObject({ state: "deleted" });
});
