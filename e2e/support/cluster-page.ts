/** A cluster's page as people use it: menus, the dialog with the plan, the operation that follows. */

import { expect, type Locator, type Page } from "@playwright/test";

/** Follows a link of the cluster's navigation. */
export async function openClusterPage(page: Page, label: string): Promise<void> {
  const navigation = page.getByRole("navigation", { name: "Main navigation" });
  await navigation.getByRole("link", { name: label, exact: true }).click();
}

/** Chooses an entry of the menu "Change" and returns the dialog that opens. */
export async function openChange(page: Page, entry: string): Promise<Locator> {
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await page.getByRole("menuitem", { name: `${entry} …`, exact: true }).click();
  return page.getByRole("dialog");
}

/** Chooses an entry of a node's menu and returns the dialog that opens. */
export async function openNodeAction(page: Page, node: string, entry: string): Promise<Locator> {
  await openNodeMenu(page, node);
  await page.getByRole("menuitem", { name: `${entry} …`, exact: true }).click();
  return page.getByRole("dialog");
}

export async function openNodeMenu(page: Page, node: string): Promise<void> {
  await page.getByRole("button", { name: `Actions for ${node}`, exact: true }).click();
}

/** Escape closes what explains an entry first, then the menu. */
export async function closeMenu(page: Page): Promise<void> {
  await page.keyboard.press("Escape");
  await expect(page.getByRole("tooltip")).toBeHidden();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("menuitem")).toHaveCount(0);
}

/** Waits for the plan of the dialog, and returns what it says. */
export async function planIn(dialog: Locator): Promise<string> {
  await expect(dialog.getByText("What will happen")).toBeVisible();
  await expect(dialog.getByText("Making the plan")).toBeHidden();
  return dialog.innerText();
}

/** A control that cannot be used is shown as such, and says why when one points at it. */
export async function expectDisabledBecause(page: Page, control: Locator, reason: string | RegExp): Promise<void> {
  await expect(control).toBeDisabled();
  await control.hover();
  await expect(page.getByRole("tooltip").getByText(reason)).toBeVisible();
}

/** Presses the button under the plan and waits for the page of the operation; returns the operation's id. */
export async function confirmPlan(page: Page, dialog: Locator, button: string): Promise<string> {
  await planIn(dialog);
  await dialog.getByRole("button", { name: button, exact: true }).click();
  await expect(page).toHaveURL(/\/operations\/op_/);
  return new URL(page.url()).pathname.split("/")[2] ?? "";
}

/** On the page of an operation: waits until it has succeeded. */
export async function expectSucceeded(page: Page, seconds: number): Promise<void> {
  const ended = page.getByText(/^(Succeeded|Failed|Blocked|Cancelled and undone)$/).first();
  await expect(ended).toBeVisible({ timeout: seconds * 1000 });
  await expect(ended).toHaveText("Succeeded");
}
