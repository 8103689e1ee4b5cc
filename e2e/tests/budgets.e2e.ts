/** Budgets and ceilings in the console: made, crossed and told for real, and an order that is refused. */

import { execFileSync } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { ask } from "../support/api";
import { CHECKOUT, instance, PYTHON } from "../support/instance";
import { expect, expectAccessible, expectContrast, picture, test } from "../support/test";
import { next, openWizard } from "../support/wizard";

const SPENT = 60_000_000;

let listener: Server;
let spent = 0;
const arrived: { rule: string; status: string; summary: string; url: string }[] = [];

test.describe.configure({ mode: "serial" });

test.beforeAll(async () => {
  listener = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      arrived.push(JSON.parse(body));
      response.end("taken");
    });
  });
  await new Promise<void>((done) => listener.listen(0, "127.0.0.1", done));
  await takeAllAway();
});

test.afterAll(async () => {
  listener.close();
  await takeAllAway();
  if (spent > 0) spend(-spent);
});

test("a budget is made, crossed and told once, and Costs shows it", async ({ ownerPage: page }) => {
  const { port } = listener.address() as AddressInfo;
  await ask("POST", "/alert-receivers", { name: "money", kind: "webhook", url: `http://127.0.0.1:${port}/` });
  await page.goto("/budgets");
  await expect(page.getByText("There are no budgets yet.")).toBeVisible();
  await expect(page.getByText(/There are no ceilings. The organisation has \d+ nodes? now/)).toBeVisible();
  await expectLooks(page, "budgets-empty");

  await page.getByRole("button", { name: "Create budget" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("everything");
  const create = dialog.getByRole("button", { name: "Create", exact: true });
  await expect(create).toBeDisabled();
  await dialog.getByLabel("Dollars a month").fill("-5");
  await expect(create).toBeDisabled();
  await dialog.getByLabel("Dollars a month").fill("500");
  await expectLooks(page, "dialog-budget");
  await create.click();
  const row = page.getByRole("table", { name: "Budgets" }).getByRole("row", { name: /everything/ });
  await expect(row).toContainText("500.00 USD");
  await expect(row).toContainText("Nothing");

  spend(SPENT);
  await row.getByRole("button", { name: "Change: everything" }).click();
  await dialog.getByLabel("Dollars a month").fill("100");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await expect(row).toContainText(/6\d\.\d\d USD spent, 6\d %/);
  await expect(row).toContainText("50 % spent");
  await expect.poll(ofBudgets, { timeout: 30_000 }).toHaveLength(1);
  expect(ofBudgets()[0]?.summary).toMatch(/^everything: 6\d\.\d\d dollars spent in .*, which is past 50 % of 100\.00/);

  await page.goto("/costs");
  await expect(page.getByText(/^everything: 6\d\.\d\d dollars spent in/)).toBeVisible();
  await expectLooks(page, "costs-budget-alert");
  await page.getByRole("link", { name: "Budgets" }).last().click();
  await expect(row).toBeVisible();
});

test("two who change one budget at once hear of each other", async ({ ownerPage: page }) => {
  const { id } = await ask<{ id: string }>("POST", "/budgets", { name: "shared", scope: "organisation", micros: 9e11 });
  const other = await page.context().newPage();
  for (const each of [page, other]) {
    await each.goto("/budgets");
    await each.getByRole("button", { name: "Change: shared" }).click();
  }
  const mine = page.getByRole("dialog");
  await mine.getByLabel("Name").fill("ours");
  await other.getByRole("dialog").getByLabel("Dollars a month").fill("800000");
  await other.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click();
  await expect(other.getByRole("dialog")).toBeHidden();

  await mine.getByRole("button", { name: "Save", exact: true }).click();
  await expect(mine.getByText("Somebody changed this while you were editing")).toBeVisible();
  await expect(mine.getByText("was 900,000.00 USD, is now 800,000.00 USD")).toBeVisible();
  await expect(mine.getByLabel("Name")).toHaveValue("ours");
  await expectLooks(page, "dialog-changed-meanwhile");
  expect(await ask("GET", `/budgets/${id}`)).toMatchObject({ name: "shared", micros: 8e11 });

  await mine.getByRole("button", { name: "Load what it is now" }).click();
  await expect(mine.getByLabel("Name")).toHaveValue("shared");
  await expect(mine.getByLabel("Dollars a month")).toHaveValue("800000");
  await mine.getByLabel("Name").fill("ours");
  await ask("PATCH", `/budgets/${id}`, { micros: 7e11 });
  await mine.getByRole("button", { name: "Save", exact: true }).click();
  await expect(mine.getByText("was 800,000.00 USD, is now 700,000.00 USD")).toBeVisible();
  await mine.getByRole("button", { name: "Save over it" }).click();
  await expect(mine).toBeHidden();
  expect(await ask("GET", `/budgets/${id}`)).toMatchObject({ name: "ours", micros: 8e11 });
  await ask("DELETE", `/budgets/${id}`);
  await other.close();
});

test("an order that goes beyond a ceiling is refused where machines are chosen", async ({ ownerPage: page }) => {
  await page.goto("/budgets");
  await page.getByRole("button", { name: "Set a ceiling" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("button", { name: "Save" })).toBeDisabled();
  await dialog.getByLabel("Nodes at most").fill("2");
  await dialog.getByLabel("Dollars a month at most").fill("1000");
  await expectAccessible(page);
  await picture(page, "dialog-ceiling");
  await dialog.getByRole("button", { name: "Save" }).click();
  const row = page.getByRole("table", { name: "Ceilings" }).getByRole("row", { name: /The organisation/ });
  await expect(row).toContainText("0 of 2");
  await expectLooks(page, "budgets");

  await openWizard(page);
  await next(page, "Place");
  await next(page, "Machines");
  await page.getByRole("button", { name: "Next", exact: true }).click();
  const refusal = page.getByText("The ceiling of the organisation is 2 nodes: it has 0 now and would have 3.");
  await expect(refusal.first()).toBeVisible();
  await picture(page, "wizard-ceiling");

  await page.goto("/budgets");
  await page.getByRole("button", { name: "Remove the ceiling of the organisation" }).click();
  await dialog.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(page.getByText("There are no ceilings.")).toBeVisible();
  await page.getByRole("button", { name: "Delete: everything" }).click();
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(page.getByText("There are no budgets yet.")).toBeVisible();
  await expect.poll(ofBudgets, { timeout: 30_000 }).toHaveLength(2);
  expect(ofBudgets()[1]?.summary).toMatch(/^Over: everything/);
});

function ofBudgets() {
  return arrived.filter(({ rule }) => rule === "budget");
}

function spend(micros: number): void {
  execFileSync(PYTHON, [join(CHECKOUT, "e2e/support/spend.py"), instance().runDir, String(micros)], { stdio: "pipe" });
  spent += micros;
}

/** Also what a test that failed has left. */
async function takeAllAway(): Promise<void> {
  for (const path of ["/budgets", "/ceilings", "/alert-receivers"]) {
    const { items } = await ask<{ items: { id: string }[] }>("GET", path);
    for (const { id } of items) await ask("DELETE", `${path}/${id}`);
  }
}

/** Accessible light and dark; and pictures of it. */
async function expectLooks(page: Page, name: string): Promise<void> {
  await expectAccessible(page);
  await picture(page, `${name}-light`);
  await page.emulateMedia({ colorScheme: "dark" });
  await expectContrast(page);
  await picture(page, `${name}-dark`);
  await page.emulateMedia({ colorScheme: "light" });
}
