import type { Browser, Page } from "@playwright/test";
import { openClusterPage } from "../support/cluster-page";
import { type Google, PROJECT, startWithGoogle } from "../support/google";
import { expect, expectAccessible, picture, signIn, test } from "../support/test";
import { expectStep, next } from "../support/wizard";

test.describe("with a cloud on offer", () => {
  let google: Google;

  test.beforeAll(async () => {
    test.setTimeout(180_000);
    google = await startWithGoogle();
  });

  test.afterAll(async () => {
    test.setTimeout(120_000);
    await google?.end();
  });

  test("a project is brought, checked until nothing is missing, and can then be ordered into", async ({ browser }) => {
    const page = await signedIn(browser, google);
    await page.getByRole("link", { name: "Cloud accounts" }).click();
    await expect(page.getByText("No cloud accounts yet.")).toBeVisible();
    await picture(page, "cloud-accounts-empty");

    await test.step("added, and at once found to be closed", async () => {
      await page.getByRole("button", { name: "Add account" }).click();
      const dialog = page.getByRole("dialog");
      const add = dialog.getByRole("button", { name: "Add and check" });
      await expect(add).toBeDisabled();
      await dialog.getByLabel("Account name").fill("Shop");
      await dialog.getByLabel("Project").fill(PROJECT);
      await expectAccessible(page);
      await picture(page, "cloud-account-create");
      await add.click();
      await expect(page.getByRole("heading", { level: 1, name: "Shop" })).toBeVisible();
      await expect(page.getByText("No access")).toBeVisible();
      await expect(page.getByText(/cannot act as ringmaster-/)).toBeVisible();
      await picture(page, "cloud-account-refused");
      await expectAccessible(page);
    });

    const account = await page
      .getByText(/^ringmaster-[0-9a-f]{16}@/)
      .first()
      .textContent();
    const email = account?.match(/ringmaster-[0-9a-f]{16}@[a-z.-]+/)?.[0] ?? "";
    await expect(page.getByText(`service-accounts create ${email.split("@")[0]}`)).toBeVisible();

    await test.step("what is missing is named, as Google calls it", async () => {
      await google.setAccess({
        impersonable: [email],
        denied: ["compute.instances.create", "compute.networks.delete"],
      });
      await checkAgain(page);
      await expect(page.getByText("Incomplete")).toBeVisible();
      const missing = page.getByRole("list", { name: "Missing permissions" });
      await expect(missing.getByRole("listitem")).toHaveText(["compute.instances.create", "compute.networks.delete"]);
      await picture(page, "cloud-account-incomplete");
    });

    await test.step("it cannot be chosen yet, and says why", async () => {
      await openPlace(page);
      await page.getByLabel("Cloud account").click();
      await expect(page.getByText("It lacks 2 permissions that clusters need.").first()).toBeAttached();
    });

    await test.step("then nothing is missing any more", async () => {
      await google.setAccess({ impersonable: [email], denied: [] });
      await page.goto("/cloud-accounts");
      await page.getByRole("link", { name: "Shop" }).click();
      await checkAgain(page);
      await expect(page.getByText("Ready", { exact: true })).toBeVisible();
      await expect(page.getByText(/Nothing is missing in/)).toBeVisible();
      await picture(page, "cloud-account-ready");
    });

    await test.step("and a cluster is ordered into it", async () => {
      await openPlace(page);
      await page.getByLabel("Cloud account").click();
      await page.getByRole("option", { name: /Shop/ }).click();
      await picture(page, "wizard-cloud-account");
      await next(page, "Machines");
      await next(page, "Name and options");
      await page.getByLabel("Cluster name").fill("in-the-shop");
      await next(page, "Review");
      await expect(page.getByText("Shop", { exact: true })).toBeVisible();
    });
    await page.context().close();
  });

  test("an image is registered, becomes the default, and is deprecated with a reason", async ({ browser }) => {
    const page = await signedIn(browser, google);
    await page.getByRole("link", { name: "Images" }).click();
    await expect(page.getByText("No images registered.")).toBeVisible();
    await page.getByRole("button", { name: "Register image" }).click();
    const dialog = page.getByRole("dialog");
    const image = `projects/${PROJECT}/global/images/ringmaster-cassandra`;
    await dialog.getByLabel("Image", { exact: true }).fill("ami-0123456789abcdef0");
    await dialog.getByLabel("Build", { exact: true }).fill("20261121");
    await dialog.getByLabel("SBOM", { exact: true }).fill("/opt/ringmaster/sbom.spdx.json");
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Register" }).click();
    await expect(dialog.getByText(/an image is named like projects/).first()).toBeVisible();
    await dialog.getByLabel("Image", { exact: true }).fill(image);
    await picture(page, "image-register");
    await dialog.getByRole("button", { name: "Register" }).click();

    const row = page.getByRole("row", { name: /20261121/ });
    await expect(row.getByText("Available", { exact: true })).toBeVisible();
    await row.getByRole("button", { name: /^Make default/ }).click();
    await expect(row.getByText("Default", { exact: true })).toBeVisible();
    await picture(page, "images");
    await expectAccessible(page);
    await row.getByRole("button", { name: /^Deprecate/ }).click();
    const confirm = page.getByRole("dialog").getByRole("button", { name: "Deprecate" });
    await expect(confirm).toBeDisabled();
    await page.getByRole("dialog").getByLabel("Why").fill("CVE-2026-1 in the base");
    await confirm.click();
    await expect(row.getByText("Deprecated", { exact: true })).toBeVisible();
    await expect(row.getByText("CVE-2026-1 in the base")).toBeVisible();
    await picture(page, "images-deprecated");
    await row.getByRole("button", { name: /^Restore/ }).click();
    await expect(row.getByText("Available", { exact: true })).toBeVisible();

    await test.step("and a cluster is pinned to it", async () => {
      const answer = await fetch(`${google.ringmaster.url}/api/v1/clusters`, {
        method: "POST",
        headers: { Authorization: `Bearer ${google.ringmaster.token}`, "Content-Type": "application/json" },
        body: JSON.stringify(ORDER),
      });
      expect(answer.status).toBe(202);
      const { cluster } = (await answer.json()) as { cluster: { id: string } };
      const openPin = async () => {
        await page.goto(`/clusters/${cluster.id}`);
        await openClusterPage(page, "Cluster settings");
        return page.getByRole("button", { name: /^New machines are made from/ });
      };
      const pin = await openPin();
      await expect(pin).toContainText("The default");
      await pin.click();
      await page.getByRole("option", { name: /20261121/ }).click();
      await page.getByRole("button", { name: "Save machine image" }).click();
      await expect(page.getByText("Saved.")).toBeVisible();
      await picture(page, "cluster-image");
      await expectAccessible(page);
      await expect(await openPin()).toContainText("20261121");
    });
    await page.context().close();
  });

  test("what was planned is ordered: the wizard opens with it", async ({ browser }) => {
    const page = await signedIn(browser, google);
    await page.goto(
      "/sizing?engine=cassandra&provider=gcp&region=europe-west4&reads=9000&writes=3000&data=900&row=500",
    );
    const shapes = page.getByRole("table", { name: "Clusters that are large enough" });
    const title = (await shapes.getByRole("rowheader").first().textContent()) ?? "";
    const [nodes, type] = title.split(" × ");
    await page.getByRole("button", { name: "Order this" }).click();
    await expectStep(page, "Engine");
    await next(page, "Place");
    await expect(page.getByRole("button", { name: /Region/ })).toContainText("Netherlands");
    await expect(page.getByRole("checkbox", { checked: true })).toHaveCount(3);
    await next(page, "Machines");
    await expect(page.getByRole("heading", { name: `Machine type: ${type}` })).toBeVisible();
    await expect(page.getByLabel("Nodes per zone")).toHaveValue(String(Number(nodes) / 3));
    await picture(page, "wizard-from-sizing");
    await next(page, "Name and options");
    await page.getByLabel("Cluster name").fill("planned");
    await next(page, "Review");
    await expect(page.getByLabel("Reads a second")).toHaveValue("9000");
    await expect(page.getByRole("table", { name: new RegExp(`^Costs of ${nodes} × ${type}`) })).toBeVisible();
    await picture(page, "wizard-cost-cloud");
    await page.context().close();
  });
});

const ORDER = {
  name: "pinned",
  engine: "cassandra",
  provider: "gcp",
  region: "us-central1",
  zones: ["us-central1-a", "us-central1-b", "us-central1-c"],
  machine_type: "n2-highmem-8",
  nodes_per_zone: 1,
};

/** A page of this product that somebody is signed in on. */
async function signedIn(browser: Browser, { ringmaster }: Google): Promise<Page> {
  const context = await browser.newContext({ baseURL: ringmaster.url, viewport: { width: 1360, height: 900 } });
  const page = await context.newPage();
  await signIn(page, ringmaster);
  return page;
}

async function checkAgain(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Check again" }).click();
  await expect(page.getByRole("button", { name: "Check again" })).toBeEnabled();
}

async function openPlace(page: Page): Promise<void> {
  await page.goto("/clusters/new");
  await expectStep(page, "Engine");
  await next(page, "Place");
  await page.getByRole("radio", { name: "Google Cloud" }).check();
}
