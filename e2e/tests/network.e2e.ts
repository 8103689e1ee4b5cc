/** The network tab: networks, who reaches the database, peerings and endpoints. */

import type { Page } from "@playwright/test";
import { type Cluster, deleteCluster, ended, orderCluster } from "../support/api";
import { expect, expectAccessible, picture, test } from "../support/test";

let cluster: Cluster;

test.describe.configure({ mode: "serial" });

test.beforeAll(async () => {
  test.setTimeout(120_000);
  const ordered = await orderCluster("wired", { zones: ["local-1a"] });
  cluster = ordered.cluster;
  expect(await ended(ordered.operation.id, 100)).toBe("succeeded");
});

test.afterAll(async () => {
  test.setTimeout(120_000);
  await deleteCluster(cluster.id);
});

test("a provider without connections says so, and who reaches the database", async ({ ownerPage: page }) => {
  await page.goto(`/clusters/${cluster.id}?tab=network`);
  await expect(page.getByText("The list is empty: logins are accepted from everywhere.")).toBeVisible();
  const none = "Networks of this provider have no connections to others.";
  await expect(page.getByRole("table", { name: "Peerings and endpoints" }).getByText(none)).toBeVisible();
  const connect = page.getByRole("button", { name: "Connect", exact: true });
  await expect(connect).toHaveAttribute("aria-disabled", "true");
  await expectAccessible(page);
});

// No provider here has networks to connect, so what a cloud's would be is put into the API's answers.
test("a peering that waits says what is to be done, with what is needed for it", async ({ ownerPage: page }) => {
  await answered(page);
  await page.goto(`/clusters/${cluster.id}?tab=network`);
  await expect(page.getByText("shop waits for you")).toBeVisible();
  await expect(page.getByText("Accept the peering connection pcx-0a1b in account 123456789012.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Copy addresses behind shop" })).toBeVisible();
  const row = page.getByRole("table", { name: "Peerings and endpoints" }).getByRole("row", { name: /shop/ });
  await expect(row).toContainText("Waiting for you");
  await expectAccessible(page);
  await page.setViewportSize({ width: 1360, height: 1100 });
  await picture(page, "network");

  await page.getByRole("button", { name: "Connect", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill("billing");
  await dialog.getByLabel("Network at the other end").fill("vpc-0123");
  await dialog.getByLabel("Clients' addresses there (CIDR)").fill("10.9.0.0/16, 10.10.0.0/16");
  await expectAccessible(page);
  await picture(page, "network-connect");
  // The API refuses it, since this provider has none; its words are shown.
  await dialog.getByRole("button", { name: "Connect", exact: true }).click();
  await expect(dialog.getByText("Networks of this provider have no connections to others.")).toBeVisible();
});

async function answered(page: Page): Promise<void> {
  const allowed = (action: string) => [{ action, allowed: true, reason: null }];
  await page.route(`**/clusters/${cluster.id}/network`, (route) =>
    route.fulfill({
      json: {
        provider: "aws",
        firewall: true,
        connection_kinds: ["peering", "endpoint"],
        datacenters: [
          {
            datacenter: "aws-eu-west-1",
            region: "eu-west-1",
            zones: ["eu-west-1a", "eu-west-1b", "eu-west-1c"],
            network_id: "vpc-0f00",
            cidr: "10.42.0.0/16",
          },
        ],
        allowed_actions: allowed("create_network_connection"),
      },
    }),
  );
  await page.route(`**/clusters/${cluster.id}/network-connections?*`, (route) =>
    route.fulfill({
      json: {
        items: [
          connection("shop", {
            state: "waiting_for_you",
            message: "Accept the peering connection pcx-0a1b in account 123456789012.",
            provider_id: "pcx-0a1b",
          }),
          connection("keys", {
            kind: "endpoint",
            peer_network: "",
            cidrs: [],
            service: "com.amazonaws.vpce.eu-west-1.vpce-svc-0123",
            addresses: ["vpce-0c.eu-west-1.vpce.amazonaws.com"],
          }),
        ],
        next_cursor: null,
      },
    }),
  );
}

function connection(name: string, about: Record<string, unknown>): Record<string, unknown> {
  return {
    id: `con_${name}`,
    kind: "peering",
    name,
    datacenter: "aws-eu-west-1",
    peer_network: "vpc-0123",
    peer_owner: "123456789012",
    peer_region: "",
    cidrs: ["172.20.0.0/16"],
    service: "",
    state: "active",
    message: "",
    provider_id: null,
    addresses: [],
    created_by: "owner@ringmaster.local",
    created_at: "2026-01-01T00:00:00Z",
    checked_at: new Date().toISOString(),
    deleted_at: null,
    allowed_actions: [{ action: "delete_network_connection", allowed: true, reason: null }],
    ...about,
  };
}
