import { expect, test } from "vitest";
import type { Catalog, Cluster } from "../api";
import { likeCluster, missingIn } from "./new-cluster";

const CATALOG = {
  providers: [
    {
      id: "local",
      regions: [{ name: "local-1", zones: ["a", "b", "c", "d"] }],
      machine_types: [{ name: "local.small" }],
    },
  ],
  engines: [],
} as unknown as Catalog;

const CLUSTER = {
  name: "orders",
  engine: "cassandra",
  engine_version: "5.0.9",
  provider: "local",
  cloud_account: null,
  datacenters: [{ name: "dc", region: "local-2", zones: ["e"], machine_type: "local.medium", nodes_per_zone: 2 }],
} as unknown as Cluster;

test("the new cluster has the shape of the old one, and another name", () => {
  expect(likeCluster(CLUSTER, CATALOG, { suffix: "-clone", engine_version: "5.0.5" })).toEqual({
    name: "orders-clone",
    engine: "cassandra",
    engine_version: "5.0.5",
    provider: "local",
    cloud_account: null,
    region: "local-2",
    zones: ["e"],
    machine_type: "local.medium",
    nodes_per_zone: 2,
  });
});

test("a long name is cut so that the new one fits", () => {
  const name = `${"a".repeat(41)}-bbbbbb`;
  const order = likeCluster({ ...CLUSTER, name }, CATALOG, { suffix: "-clone" });
  expect(order.name).toBe(`${"a".repeat(41)}-clone`);
});

test("of a deleted cluster the catalogue's defaults stand in for what is not known", () => {
  const order = likeCluster({ ...CLUSTER, datacenters: [] }, CATALOG, { suffix: "-restored" });
  expect(order).toMatchObject({
    region: "local-1",
    zones: ["a", "b", "c"],
    machine_type: "local.small",
    nodes_per_zone: 1,
  });
});

test("what is missing is said", () => {
  const order = likeCluster(CLUSTER, CATALOG, { suffix: "-clone" });
  expect(missingIn(order)).toBeUndefined();
  expect(missingIn({ ...order, name: " " })).toBe("Name the new cluster.");
  expect(missingIn({ ...order, zones: [] })).toBe("Choose at least one zone.");
  expect(missingIn({ ...order, nodes_per_zone: Number.NaN })).toBe("Enter a whole number of nodes from 1.");
});
