import { expect, expectAccessible, expectContrast, picture, test } from "../support/test";
import { goToReview, openWizard } from "../support/wizard";

test("a load becomes clusters, with limits, price and reasons", async ({ ownerPage: page }) => {
  await page.goto("/clusters");
  await page.getByRole("link", { name: "Sizing" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Sizing" })).toBeVisible();
  await expectAccessible(page);

  await test.step("what is no number, and what the API refuses, is said at the field", async () => {
    await page.getByLabel("Reads a second").fill("");
    await page.getByRole("button", { name: "Suggest clusters" }).click();
    await expect(page.getByText("Enter a whole number.")).toBeVisible();
    await page.getByLabel("Reads a second").fill("20000");
    await page.getByLabel("Months ahead").fill("99");
    await page.getByRole("button", { name: "Suggest clusters" }).click();
    await expect(page.getByText(/less than or equal to 60|at most 60/i).first()).toBeVisible();
    await expect(page.getByLabel("Months ahead")).toHaveAttribute("aria-invalid", "true");
    await page.getByLabel("Months ahead").fill("12");
  });

  await page.getByRole("button", { name: "Suggest clusters" }).click();
  const shapes = page.getByRole("table", { name: "Clusters that are large enough" });
  await expect(shapes.getByRole("row", { name: /\d+ × i3/ }).first()).toBeVisible();
  await expect(page.getByRole("list", { name: "Why" }).getByRole("listitem").first()).toContainText(/node/);
  await expect(page.getByRole("list", { name: "What this rests on" })).toContainText("version 3.11");
  await expect(page.getByRole("row", { name: /^Provisioned/ })).toContainText("USD");
  // This installation offers no cloud: it can be compared, not ordered.
  await expect(page.getByRole("button", { name: "Order this" })).toBeDisabled();
  await page.setViewportSize({ width: 1360, height: 2600 });
  await picture(page, "sizing");
  await expectAccessible(page);
  await page.emulateMedia({ colorScheme: "dark" });
  await picture(page, "sizing-answer-dark");
  await expectContrast(page);

  await test.step("another one is chosen, and the address brings it all back", async () => {
    await shapes.getByRole("radio").last().check();
    await page.reload();
    await expect(page.getByLabel("Reads a second")).toHaveValue("20000");
    await expect(shapes.getByRole("radio").first()).toBeChecked();
  });
});

test("the wizard tells what an order costs, line by line, with the load that is named", async ({ ownerPage: page }) => {
  await openWizard(page);
  await goToReview(page, "what-it-costs");
  const costs = page.getByRole("table", { name: /^Costs of 3 × local\.small/ });
  await expect(costs.getByRole("row", { name: /^On demand/ })).toContainText("USD");
  await page.getByLabel("Writes a second").fill("1000");
  await page.getByLabel("Bytes of a row").fill("1000");
  await page.getByText("How it is worked out: on demand").click();
  await expect(page.getByRole("row", { name: /^Traffic across zones/ })).toContainText("GiB an hour ×");
  const elsewhere = page.getByRole("table", { name: "The same cluster elsewhere" });
  await expect(elsewhere.getByRole("row", { name: /local\.medium in local-1/ })).toContainText(
    /[+−]?[\d.]+ USD|No change/,
  );
  await expect(elsewhere.getByRole("row", { name: /local\.small in local-2/ })).toBeVisible();
  await page.setViewportSize({ width: 1360, height: 2200 });
  await picture(page, "wizard-cost");
  await expectAccessible(page);
  await page.emulateMedia({ colorScheme: "dark" });
  await picture(page, "wizard-cost-dark");
  await expectContrast(page);
  await page.getByLabel("Writes a second").fill("-1");
  await expect(page.getByText("Enter whole numbers from 0.")).toBeVisible();
});
