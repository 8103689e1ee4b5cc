import type { Page } from "@playwright/test";
import { ask, type Cluster, call, orderCluster } from "../support/api";
import { expect, expectAccessible, picture, test } from "../support/test";
import { expectStep, goToReview, next, openWizard } from "../support/wizard";

async function expectRefused(page: Page, complaint: RegExp): Promise<void> {
  await page.getByRole("button", { name: "Next", exact: true }).click();
  await expect(page.getByText(complaint).first()).toBeVisible();
}

async function clusters(): Promise<string[]> {
  return (await ask<{ items: Cluster[] }>("GET", "/clusters")).items.map(({ id }) => id);
}

test("each step refuses what the API would refuse, in the API's words", async ({ ownerPage: page }) => {
  const before = await clusters();
  await openWizard(page);
  await next(page, "Place");

  await test.step("no zone at all", async () => {
    const zones = page.getByRole("checkbox", { name: /^local-1/ });
    for (const zone of await zones.all()) await zone.uncheck();
    await expectRefused(page, /zone/i);
    await expectStep(page, "Place");
    await expectAccessible(page);
    await picture(page, "wizard-refuses-no-zone");
    for (const zone of await zones.all()) await zone.check();
  });
  await next(page, "Machines");

  await test.step("no nodes, part of a node, more nodes than this machine holds", async () => {
    const nodes = page.getByLabel("Nodes per zone");
    for (const [value, complaint] of [
      ["0", /greater than or equal to 1|at least 1|1 or more/i],
      ["1.5", /whole|integer/i],
      ["30", /fit/i],
    ] as const) {
      await nodes.fill(value);
      await expectRefused(page, complaint);
      await expectStep(page, "Machines");
    }
    await picture(page, "wizard-refuses-too-many-nodes");
    await nodes.fill("1");
  });
  await next(page, "Name and options");

  await test.step("names that are missing, odd, too long", async () => {
    const name = page.getByLabel("Cluster name");
    for (const [value, complaint] of [
      ["", /Give the cluster a name/],
      ["Orders", /must start with a lower-case letter/],
      ["orders_1", /lower-case letters \(a to z\), digits and hyphens only/],
      ["orders-", /must not end with a hyphen/],
      ["o".repeat(49), /at most 48/],
    ] as const) {
      await name.fill(value);
      await expectRefused(page, complaint);
      await expect(name).toHaveAttribute("aria-invalid", "true");
      await expectStep(page, "Name and options");
    }
    await expectAccessible(page);
    await picture(page, "wizard-refuses-a-name");
  });
  expect(await clusters()).toEqual(before);
});

test("a name that is taken is refused before the review", async ({ ownerPage: page }) => {
  const { operation } = await orderCluster("taken");
  await openWizard(page);
  await next(page, "Place");
  await next(page, "Machines");
  await next(page, "Name and options");
  await page.getByLabel("Cluster name").fill("taken");
  await expectRefused(page, /taken|already/i);
  await call("POST", `/operations/${operation.id}/cancel`);
});

test("an order can be made by keyboard alone, up to the review", async ({ ownerPage: page }) => {
  await page.goto("/clusters/new");
  await expectStep(page, "Engine");
  const press = async (name: string): Promise<void> => {
    await tabTo(page, name);
    await page.keyboard.press("Enter");
  };
  await press("Next");
  await expectStep(page, "Place");
  await tabTo(page, "local-1c");
  await page.keyboard.press("Space");
  await expect(page.getByRole("checkbox", { name: "local-1c" })).not.toBeChecked();
  await page.keyboard.press("Space");
  await press("Next");
  await expectStep(page, "Machines");
  await press("Next");
  await expectStep(page, "Name and options");
  await tabTo(page, "Cluster name");
  await page.keyboard.type("by-keyboard");
  await press("Next");
  await expectStep(page, "Review");
  await expect(page.getByText("by-keyboard")).toBeVisible();
  await tabTo(page, "Order cluster");
});

test("the way back keeps what was entered, and leaving orders nothing", async ({ ownerPage: page }) => {
  await openWizard(page);
  await goToReview(page, "changed-my-mind");
  await page.getByRole("button", { name: "Edit machines" }).click();
  await expectStep(page, "Machines");
  await page.goBack();
  await expectStep(page, "Review");
  await expect(page.getByText("changed-my-mind")).toBeVisible();
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByRole("heading", { level: 1, name: /Clusters/ })).toBeVisible();
  const { items } = await ask<{ items: { name: string }[] }>("GET", "/clusters");
  expect(items.map((cluster) => cluster.name)).not.toContain("changed-my-mind");
});

/** Presses Tab until the focus is on the control with this accessible name; fails after a hundred. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 100; presses += 1) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => {
      const element = document.activeElement;
      const labels = element instanceof HTMLInputElement ? Array.from(element.labels ?? [], (l) => l.textContent) : [];
      const labelledBy = (element?.getAttribute("aria-labelledby") ?? "")
        .split(" ")
        .map((id) => (id ? document.getElementById(id)?.textContent : ""));
      return [element?.getAttribute("aria-label"), ...labelledBy, ...labels, element?.textContent].map((t) =>
        t?.trim(),
      );
    });
    if (focused.includes(name)) return;
  }
  throw new Error(`Tab does not reach "${name}"`);
}
