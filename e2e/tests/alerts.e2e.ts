/** Alerts in the console: somebody is told, a rule is changed and fires for real, is silenced, and told again. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "@playwright/test";
import { ask, type Cluster, deleteCluster, ended, newMember, orderCluster } from "../support/api";
import { expectDisabledBecause, openClusterPage } from "../support/cluster-page";
import { copied, expect, expectAccessible, picture, signIn, test } from "../support/test";

type Message = { status: string; summary: string; url: string; signature: string };

let cluster: Cluster;
let listener: Server;
const arrived: Message[] = [];

test.describe.configure({ mode: "serial" });

test.beforeAll(async () => {
  test.setTimeout(150_000);
  listener = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      arrived.push({ ...JSON.parse(body), signature: request.headers["ringmaster-signature"] });
      response.end("taken");
    });
  });
  await new Promise<void>((done) => listener.listen(0, "127.0.0.1", done));
  const ordered = await orderCluster("watched", { zones: ["local-1a"] });
  cluster = ordered.cluster;
  expect(await ended(ordered.operation.id, 120)).toBe("succeeded");
});

test.afterAll(async () => {
  test.setTimeout(120_000);
  listener.close();
  const { items } = await ask<{ items: { id: string }[] }>("GET", "/alert-receivers");
  for (const { id } of items) await ask("DELETE", `/alert-receivers/${id}`);
  await deleteCluster(cluster.id);
});

/** Until a sample is taken, the rule is evaluated, Alertmanager has gathered what belongs together and is asked again. */
const FIRES = { timeout: 120_000 };

test("a receiver is added, its secret is shown once, and a test really arrives", async ({ ownerPage: page }) => {
  await page.goto("/alerts");
  await expect(page.getByText("Nobody is told yet.")).toBeVisible();
  await page.getByRole("button", { name: "Add receiver" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("on call");
  await expect(dialog.getByRole("button", { name: "Add", exact: true })).toBeDisabled();
  await dialog.getByLabel("Address").fill("ftp://example.com/");
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await expect(dialog.getByText(/http/).first()).toBeVisible();
  await dialog.getByLabel("Address").fill(`http://127.0.0.1:${(listener.address() as AddressInfo).port}/hook`);
  await expectAccessible(page);
  await picture(page, "dialog-receiver");
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  expect(await copied(page, "Copy signing secret")).toMatch(/^rmw_/);
  await page.getByRole("dialog").getByRole("button", { name: "Done" }).click();
  const receiver = page.getByRole("table", { name: "Receivers" }).getByRole("row", { name: /on call/ });
  await expect(receiver).toContainText("None yet");

  await receiver.getByRole("button", { name: "Send a test: on call" }).click();
  await expect(page.getByRole("dialog").getByText("Delivered")).toBeVisible({ timeout: 30_000 });
  expect(arrived.at(-1)).toMatchObject({ status: "test", summary: "Test of the receiver on call" });
  expect(arrived.at(-1)?.signature).toMatch(/^v1=[0-9a-f]{64}$/);
  await expectAccessible(page);
  await picture(page, "dialog-receiver-test");
  await page.getByRole("dialog").getByRole("button", { name: "Done" }).click();
  await expect(receiver).toContainText("Delivered");

  await page.goto(arrived.at(-1)?.url ?? "");
  const log = page.getByRole("table", { name: "Messages" });
  await expect(log.getByRole("row", { name: /Test of the receiver on call/ })).toContainText("Delivered");

  const tests = arrived.length;
  await log.getByRole("button", { name: /Test of the receiver on call/ }).click();
  const message = page.getByRole("dialog", { name: "Test of the receiver on call" });
  await expect(message.getByRole("region", { name: "What was sent" })).toContainText('"status": "test"');
  await expectAccessible(page);
  await picture(page, "dialog-delivery");
  await message.getByRole("button", { name: "Send again" }).click();
  await expect(log.getByRole("row", { name: /Test of the receiver on call/ })).toHaveCount(2);
  await expect.poll(() => arrived.length, { timeout: 30_000 }).toBe(tests + 1);
});

test("a test that nobody takes says why", async ({ ownerPage: page }) => {
  await ask("POST", "/alert-receivers", { name: "nobody there", kind: "slack", url: "http://127.0.0.1:9/x" });
  await page.goto("/alerts");
  await page.getByRole("button", { name: "Send a test: nobody there" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByText("Not delivered")).toBeVisible({ timeout: 30_000 });
  await expect(dialog.getByText(/Connection refused/)).toBeVisible();
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "Delete: nobody there" }).click();
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(page.getByRole("row", { name: /nobody there/ })).toBeHidden();
});

test("a rule's threshold is changed where it stands, fires by it, and people are told", async ({ ownerPage: page }) => {
  test.setTimeout(240_000);
  await page.goto(`/clusters/${cluster.id}`);
  await openClusterPage(page, "Alerts");
  const rule = page.getByRole("grid", { name: "Rules" }).getByRole("row", { name: /^Disk 90 % full/ });
  await expect(rule).toContainText("above 90 %", { timeout: 30_000 });
  await rule.getByRole("button", { name: "Change threshold of Disk 90 % full" }).click();
  const threshold = page.getByRole("textbox", { name: "Threshold of Disk 90 % full" });
  await threshold.fill("4 %");
  await expect(page.getByText("From 5 % to 99 %.")).toBeVisible();
  await threshold.fill("5 %");
  await threshold.press("Enter");
  await expect(rule).toContainText("above 5 %");
  await rule.getByRole("button", { name: "Change duration of Disk 90 % full" }).click();
  await page.getByRole("textbox", { name: "How long Disk 90 % full must have lasted" }).fill("0 s");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(rule).toContainText("at once");
  await expect(rule).toContainText("90 %, after 5 min");

  const firing = page.getByRole("table", { name: "Firing now" });
  await expect(firing.getByRole("row", { name: /Disk 90 % full: .* \(limit 5.0 %\)/ })).toBeVisible(FIRES);
  await expect
    .poll(() => arrived.some(({ status, summary }) => isOurs(summary) && status === "firing"), FIRES)
    .toBe(true);
  expect(arrived.find(({ summary }) => isOurs(summary))?.url).toBe(page.url());
  const event = page.getByRole("table", { name: "Alert history" }).getByRole("row", { name: /Disk 90 % full/ });
  await expect(event).toContainText("Fires");
  await expectLooks(page, "cluster-alerts");

  await page.goto("/clusters");
  await page.getByRole("link", { name: /alerts? fires?.*critical/ }).click();
  await expect(page).toHaveURL(`/clusters/${cluster.id}?tab=alerts`);
});

test("what fires is silenced with a reason, shown all the same, and the silence is ended", async ({
  ownerPage: page,
}) => {
  test.setTimeout(150_000);
  await page.goto("/alerts");
  const row = page.getByRole("table", { name: "Firing now" }).getByRole("row", { name: /Disk 90 % full/ });
  await row.getByRole("button", { name: /^Silence: / }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("button", { name: "Silence", exact: true })).toBeDisabled();
  await dialog.getByLabel("Why").fill("more disks come on Monday");
  await expectAccessible(page);
  await picture(page, "dialog-silence");
  await dialog.getByRole("button", { name: "Silence", exact: true }).click();
  await expect(row).toContainText("Silenced", FIRES);
  await expectLooks(page, "alerts");

  await row.getByRole("link", { name: "watched", exact: true }).click();
  const silence = page
    .getByRole("table", { name: "Silences" })
    .getByRole("row", { name: /rule disk-90, node watched-/ });
  await expect(silence).toContainText("In effect");
  await expect(silence).toContainText("more disks come on Monday");
  await silence.getByRole("button", { name: /^End the silence of/ }).click();
  await dialog.getByRole("button", { name: "End it" }).click();
  await expect(silence).toContainText("Over");
  await expect(silence.getByRole("button")).toHaveCount(0);
});

test("a viewer sees it all and reads why they may not change it; a rule goes back to usual and it is over", async ({
  ownerPage,
  page,
}) => {
  test.setTimeout(240_000);
  await signIn(page, await newMember("Nora Night", "viewer"));
  await page.goto(`/clusters/${cluster.id}?tab=alerts`);
  await expect(page.getByRole("row", { name: /^Critical.*Disk 90 % full/ }).first()).toBeVisible();
  await expectDisabledBecause(page, page.getByRole("button", { name: "Silence alerts" }), /may not silence/);
  await expect(page.getByText("Your role or token may not change alerts.").filter({ visible: true })).toBeVisible();
  await page.goto("/alerts");
  await expectDisabledBecause(
    page,
    page.getByRole("button", { name: "Send a test: on call" }),
    /may not change alerts/,
  );

  await ownerPage.goto(`/clusters/${cluster.id}?tab=alerts`);
  await ownerPage.getByRole("button", { name: "Back to usual: Disk 90 % full" }).click();
  await expect(ownerPage.getByRole("row", { name: /^Disk 90 % full/ })).toContainText("above 90 %");
  await expect(ownerPage.getByRole("table", { name: "Firing now" }).getByText(/Disk 90 % full/)).toBeHidden(FIRES);
  await expect
    .poll(() => arrived.some(({ summary }) => summary.startsWith("Over: ") && isOurs(summary)), FIRES)
    .toBe(true);
});

function isOurs(summary: string): boolean {
  return summary.includes("watched: Disk 90 % full");
}

/** Accessible light and dark; and pictures of it, wide and narrow. */
async function expectLooks(page: Page, name: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await expectAccessible(page);
    await picture(page, `${name}-${colorScheme}`);
  }
  await page.setViewportSize({ width: 700, height: 1400 });
  await picture(page, `${name}-narrow`);
  await page.setViewportSize({ width: 1360, height: 900 });
  await page.emulateMedia({ colorScheme: "light" });
}
