/** The order wizard, step by step, as a person goes through it. */

import { expect, type Page } from "@playwright/test";

export const STEPS = ["Engine", "Place", "Machines", "Name and options", "Review"] as const;
export type Step = (typeof STEPS)[number];

export async function openWizard(page: Page): Promise<void> {
  await page.goto("/clusters");
  await page
    .getByRole("button", { name: "Order cluster" })
    .or(page.getByRole("link", { name: "Order cluster" }))
    .first()
    .click();
  await expectStep(page, "Engine");
}

export async function expectStep(page: Page, step: Step): Promise<void> {
  await expect(page.getByRole("heading", { level: 1, name: new RegExp(`^${step}`) })).toBeVisible();
}

export async function next(page: Page, to: Step): Promise<void> {
  await page.getByRole("button", { name: "Next", exact: true }).click();
  await expectStep(page, to);
}

/** From the first step to the review, with what the wizard proposes and this name. */
export async function goToReview(page: Page, name: string): Promise<void> {
  await next(page, "Place");
  await next(page, "Machines");
  await next(page, "Name and options");
  await page.getByLabel("Cluster name").fill(name);
  await next(page, "Review");
}
