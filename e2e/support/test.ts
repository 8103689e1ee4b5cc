/** `test` with what every test of the console needs: signed-in pages, pictures, accessibility. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import AxeBuilder from "@axe-core/playwright";
import { test as base, expect, type Page } from "@playwright/test";
import { instance } from "./instance";

const PICTURES = join(import.meta.dirname, "../test-results/pictures");

type StorageState = Awaited<ReturnType<ReturnType<Page["context"]>["storageState"]>>;

export const test = base.extend<{ ownerPage: Page }, { ownerState: StorageState }>({
  baseURL: async ({ browserName: _ }, use) => use(instance().url),
  ownerState: [
    async ({ browser }, use) => {
      const context = await browser.newContext({ baseURL: instance().url });
      const page = await context.newPage();
      await signIn(page, instance());
      const state = await context.storageState();
      await context.close();
      await use(state);
    },
    { scope: "worker" },
  ],
  /** A page on which the first owner is signed in. */
  ownerPage: async ({ browser, ownerState, contextOptions, baseURL, colorScheme, viewport }, use) => {
    const context = await browser.newContext({
      ...contextOptions,
      ...(baseURL ? { baseURL } : {}),
      colorScheme,
      viewport,
      storageState: ownerState,
    });
    const page = await context.newPage();
    // What the browser refused to load or run: the console must need nothing that its policy forbids.
    const refused: string[] = [];
    page.on("console", (message) => {
      if (/content security policy/i.test(message.text())) refused.push(message.text());
    });
    await use(page);
    await context.close();
    expect(refused).toEqual([]);
  },
});

export { expect };

/** Signs in on the sign-in page, and waits for the console. */
export async function signIn(page: Page, who: { email: string; password: string }): Promise<void> {
  await page.goto("/");
  await page.getByLabel("E-mail").fill(who.email);
  await page.getByLabel("Password", { exact: true }).fill(who.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { level: 1, name: /Clusters/ })).toBeVisible();
}

/** Keeps a picture for people to look at: test-results/pictures/<name>.png. */
export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), animations: "disabled" });
}

/** No violation of WCAG 2.2 A and AA on the page as it is now. */
export async function expectAccessible(page: Page): Promise<void> {
  await stillness(page);
  await expectNoViolation(new AxeBuilder({ page }).withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]));
}

/** Enough contrast on a page that was found accessible in the other colours: between light and dark, only they differ. */
export async function expectContrast(page: Page): Promise<void> {
  await stillness(page);
  await expectNoViolation(new AxeBuilder({ page }).withRules(["color-contrast"]));
}

/** What fades in has its colours when it is there; what turns for ever is not waited for. */
async function stillness(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const ending = document.getAnimations().filter((each) => each.effect?.getComputedTiming().endTime !== Infinity);
    await Promise.all(ending.map((each) => each.finished.catch(() => undefined)));
  });
}

async function expectNoViolation(rules: AxeBuilder): Promise<void> {
  const { violations } = await rules.analyze();
  const found = violations.map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.html).join(" | ")}`,
  );
  expect.soft(found).toEqual([]);
}

/** What a copy button puts on the clipboard. */
export async function copied(page: Page, button: string): Promise<string> {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: button, exact: true }).click();
  return page.evaluate(() => navigator.clipboard.readText());
}
