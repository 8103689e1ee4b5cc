import type { Catalog, Cluster, ClusterOrder } from "../api";
import { inProvider } from "./order";

const LONGEST_NAME = 48;

/**
 * The order of a cluster like this one, to restore into: same place, machines and shape, another name. Of a cluster that
 * was deleted only engine and provider are known; then the catalogue's defaults stand in.
 */
export function likeCluster(
  cluster: Cluster,
  catalog: Catalog,
  { suffix, engine_version = cluster.engine_version }: { suffix: string; engine_version?: string },
): ClusterOrder {
  const home = cluster.datacenters[0];
  return {
    name: `${cluster.name.slice(0, LONGEST_NAME - suffix.length).replace(/-+$/, "")}${suffix}`,
    engine: cluster.engine,
    engine_version,
    ...inProvider(catalog, cluster.provider),
    cloud_account: cluster.cloud_account?.id ?? null,
    ...(home && { region: home.region, zones: home.zones, machine_type: home.machine_type }),
    nodes_per_zone: home?.nodes_per_zone ?? 1,
  };
}

/** What is still to be entered; undefined: nothing. What is wrong with it otherwise, the plan says. */
export function missingIn({ name, zones, nodes_per_zone }: ClusterOrder): string | undefined {
  if (name.trim() === "") return "Name the new cluster.";
  if (zones.length === 0) return "Choose at least one zone.";
  if (!Number.isInteger(nodes_per_zone) || nodes_per_zone < 1) return "Enter a whole number of nodes from 1.";
  return undefined;
}
