/** The main job from end to end: order a cluster over three zones, use it with real drivers, delete it. */

import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { deleteLeftovers, type Node, nodesOf } from "../support/api";
import { openChange } from "../support/cluster-page";
import { CHECKOUT, instance, PYTHON } from "../support/instance";
import { machineFolders, NOTHING, portsOpenOn, processesAbout, type Remains } from "../support/remains";
import { runSnippet } from "../support/snippets";
import { copied, expect, expectAccessible, picture, signIn, test } from "../support/test";
import { next, openWizard } from "../support/wizard";

const NAME = "orders-e2e";
const ZONES = ["local-1a", "local-1b", "local-1c"];

// What one part of the story leaves to the next.
let clusterId = "";
let nodes: Node[] = [];
let bundle = "";
let credentials = { username: "", password: "" };

test.describe.configure({ mode: "serial" });

test.beforeAll(async () => {
  test.setTimeout(120_000);
  await deleteLeftovers();
});

test("order: the wizard leads to an active cluster while one watches", async ({ page }) => {
  test.setTimeout(180_000);
  await signIn(page, instance());
  await expect(page.getByText("No clusters yet")).toBeVisible();
  await picture(page, "clusters-empty");

  await openWizard(page);
  await expectAccessible(page);
  await picture(page, "wizard-1-engine");
  await next(page, "Place");
  for (const zone of ZONES) await expect(page.getByRole("checkbox", { name: zone })).toBeChecked();
  await expectAccessible(page);
  await picture(page, "wizard-2-place");
  await next(page, "Machines");
  await expect(page.getByText("3 zones × 1 = 3 nodes")).toBeVisible();
  await expectAccessible(page);
  await picture(page, "wizard-3-machines");
  await next(page, "Name and options");
  await page.getByLabel("Cluster name").fill(NAME);
  await page.getByRole("button", { name: "Add tag" }).click();
  await page.getByLabel("Key of tag 1").fill("team");
  await page.getByLabel("Value of tag 1").fill("orders");
  await expectAccessible(page);
  await picture(page, "wizard-4-name");
  await next(page, "Review");
  await expect(page.getByText(/3 nodes in 3 zones/)).toBeVisible();
  await expectAccessible(page);
  await picture(page, "wizard-5-review");

  await page.getByRole("button", { name: "Order cluster" }).click();
  await expect(page).toHaveURL(/\/clusters\/clu_/);
  clusterId = new URL(page.url()).pathname.split("/")[2] ?? "";
  await expect(page.getByRole("heading", { level: 1, name: NAME })).toBeVisible();
  await expect(page.getByRole("heading", { name: "In progress" })).toBeVisible();
  await expect(page.getByText("Start the engine").first()).toBeVisible();
  const shown = await progressUntil(page, () => page.getByText("Active", { exact: true }).isVisible());
  expect(shown, "the bar never goes back").toEqual([...shown].sort((a, b) => a - b));
  expect(shown.length, "the bar moves while one watches").toBeGreaterThan(1);

  for (const zone of ZONES) {
    await expect(page.getByRole("table", { name: `Nodes in ${zone}` }).getByText("Up", { exact: true })).toBeVisible();
  }
  await expect(page.getByText("team: orders")).toBeVisible();
  await expectAccessible(page);
  await picture(page, "cluster-overview");
  nodes = await nodesOf(clusterId);
  expect(nodes.map((node) => node.zone).sort()).toEqual(ZONES);
});

test("activity: the finished operation shows each step and how long it took", async ({ ownerPage: page }) => {
  await page.goto(`/clusters/${clusterId}?tab=activity`);
  await expect(page.getByText("Succeeded", { exact: true }).first()).toBeVisible();
  await expectAccessible(page);
  await picture(page, "cluster-activity");
  await page.getByRole("table", { name: "Operations" }).getByRole("link").first().click();
  await expect(page.getByRole("heading", { name: "Steps" })).toBeVisible();
  await expect(page.getByText("Prove: ring, schema, write and read").first()).toBeVisible();
  await expectAccessible(page);
  await picture(page, "operation");
});

test("connect: bundle and password come out once", async ({ ownerPage: page }) => {
  await page.goto(`/clusters/${clusterId}?tab=connect`);
  await expect(page.getByRole("heading", { name: "Use it" })).toBeVisible();
  await expectAccessible(page);
  await picture(page, "connect");

  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download bundle" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe(`${NAME}-connection.zip`);
  bundle = test.info().outputPath("bundle.zip");
  await download.saveAs(bundle);

  await page.getByRole("button", { name: "Reveal password" }).click();
  const dialog = page.getByRole("dialog");
  await expectAccessible(page);
  await picture(page, "connect-reveal");
  await dialog.getByRole("button", { name: "Reveal", exact: true }).click();
  await expect(page.getByText("Copy the password now")).toBeVisible();
  credentials = {
    username: await copied(page, "Copy revealed user"),
    password: await copied(page, "Copy password"),
  };
  expect(credentials.password.length).toBeGreaterThanOrEqual(16);
  await expectAccessible(page);

  await page.reload();
  await expect(page.getByText("The password was revealed before.")).toBeVisible();
  await expect(page.getByText(credentials.password)).toBeHidden();
  await expect(page.getByRole("button", { name: "Reveal password" })).toBeDisabled();
});

test("use: a row written at QUORUM is read back from every node, and has replicas in three racks", () => {
  const script = join(CHECKOUT, "e2e/support/prove_cluster.py");
  const input = JSON.stringify({ bundle, ...credentials });
  const seen = JSON.parse(execFileSync(PYTHON, [script], { input, encoding: "utf8", timeout: 60_000 }));
  const addresses = nodes.map((node) => node.address).sort();

  expect(seen.files).toEqual(["README.txt", "ca.crt", "connection.json", "cqlshrc", "truststore.p12"]);
  expect(seen.hosts.map((host: { rack: string }) => host.rack).sort()).toEqual(ZONES);
  expect(seen.replica_racks).toEqual(ZONES);
  // Theirs and the control plane's (decision 0009); the engine's own default superuser is gone.
  expect(seen.superusers).toEqual([credentials.username, "ringmaster"].sort());
  expect(Object.keys(seen.reads).sort()).toEqual(addresses);
  for (const node of nodes) {
    expect(seen.reads[node.address], node.name).toEqual({
      same: true,
      rack: node.zone,
      peers: addresses.filter((address) => address !== node.address),
    });
  }
});

test("use: every snippet works as pasted", async ({ ownerPage: page }) => {
  test.setTimeout(240_000);
  await page.goto(`/clusters/${clusterId}?tab=connect`);
  const tabs = page.getByRole("tablist", { name: "Snippets" }).getByRole("tab");
  await expect(tabs).toHaveText(["cqlsh", "Python", "Java", "Go", "Node.js", "Spark"]);
  for (const [index, id] of ["cqlsh", "python", "java", "go", "node", "spark"].entries()) {
    const tab = tabs.nth(index);
    const title = await tab.innerText();
    await test.step(title, async () => {
      await tab.click();
      const snippet = {
        id,
        install: await copied(page, `Copy ${title} installation`),
        code: await copied(page, `Copy ${title} snippet`),
      };
      expect(snippet.code).not.toContain(credentials.password);
      const printed = await runSnippet(snippet, bundle, credentials.password);
      expect(printed).toMatch(id === "spark" ? /parsed only/ : /local-local-1.*local-1[abc].*5\.0\./s);
    });
  }
  await tabs.nth(1).click();
  await picture(page, "connect-python");
});

test("secrets: the password is in no process list and in no file, the database's and the logs included", () => {
  expect(processesAbout(credentials.password)).toEqual([]);
  const folder = instance().runDir;
  const search = spawnSync("grep", ["-rlF", "--devices=skip", "--", credentials.password, folder], {
    encoding: "utf8",
  });
  expect(search.stdout).toBe("");
  const control = spawnSync("grep", ["-rlF", "--devices=skip", "--", NAME, folder], { encoding: "utf8" });
  expect(control.stdout, "the search itself works").not.toBe("");
});

test("delete: after typing the name, nothing of it is left", async ({ ownerPage: page }) => {
  test.setTimeout(120_000);
  const machines = machineFolders(instance().runDir);
  expect(machines).toHaveLength(3);
  expect(machines.flatMap(processesAbout).length).toBeGreaterThanOrEqual(6);
  const addresses = nodes.map((node) => node.address);
  expect(portsOpenOn(addresses).length).toBeGreaterThanOrEqual(6);

  await page.goto(`/clusters/${clusterId}`);
  const dialog = await openChange(page, "Delete cluster");
  const confirm = dialog.getByRole("button", { name: "Delete", exact: true });
  await dialog.getByLabel(`To confirm, type ${NAME}`).fill("orders");
  await expect(confirm).toBeDisabled();
  await expectAccessible(page);
  await picture(page, "delete");
  await dialog.getByLabel(`To confirm, type ${NAME}`).fill(NAME);
  await confirm.click();
  await expect(page).toHaveURL(/\/operations\/op_/);
  await expect(page.getByText("Succeeded", { exact: true }).first()).toBeVisible({ timeout: 60_000 });
  await picture(page, "deleted");

  const left: Remains = {
    processes: machines.flatMap(processesAbout),
    ports: portsOpenOn(addresses),
    folders: machineFolders(instance().runDir),
  };
  expect(left).toEqual(NOTHING);
  await page.goto("/clusters");
  await expect(page.getByText("No clusters yet")).toBeVisible();
});

/** The values the progress bar shows, until `done`. */
async function progressUntil(page: Page, done: () => Promise<boolean>): Promise<number[]> {
  const shown: number[] = [];
  let pictured = false;
  const deadline = Date.now() + 120_000;
  while (!(await done())) {
    if (Date.now() > deadline) throw new Error(`not active after two minutes; progress ${shown.join(", ")}`);
    const bar = page.getByRole("progressbar").first();
    if (await bar.isVisible()) {
      const value = Number(await bar.getAttribute("value", { timeout: 1000 }).catch(() => Number.NaN));
      if (Number.isFinite(value) && value !== shown.at(-1)) shown.push(value);
      if (value >= 40 && !pictured) {
        pictured = true;
        await expectAccessible(page);
        await picture(page, "progress");
      }
    }
    await page.waitForTimeout(100);
  }
  return shown;
}
