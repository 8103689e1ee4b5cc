import type { Catalog, CatalogMachineType, EstimateLine, ShapeOrder } from "../api";

// What an order is compared with, and the words of an estimate. Amounts and formulas are the API's.

/** A shape to compare with, and what is different about it. */
export interface Comparison {
  kind: "region" | "type" | "provider";
  shape: ShapeOrder;
}

const MOST_REGIONS = 8;
const MOST_TYPES = 6;

/** The same cluster elsewhere: in other regions of its provider, on other types, with other providers. */
export function comparisonsFor(catalog: Catalog, shape: ShapeOrder): Comparison[] {
  const provider = catalog.providers.find(({ id }) => id === shape.provider);
  const type = provider?.machine_types.find(({ name }) => name === shape.machine_type);
  if (!provider || !type) return [];
  const regions = provider.regions.filter(({ name }) => name !== shape.region).slice(0, MOST_REGIONS);
  const others = catalog.providers.filter(({ id, regions }) => id !== shape.provider && regions.length > 0);
  return [
    ...likeTypes(provider.machine_types, type).map((name) => ({
      kind: "type" as const,
      shape: { ...shape, machine_type: name },
    })),
    ...regions.map(({ name }) => ({ kind: "region" as const, shape: { ...shape, region: name } })),
    ...others.flatMap(({ id, regions: [region], machine_types }) => {
      const nearest = nearestType(machine_types, type);
      if (!nearest || !region) return [];
      return {
        kind: "provider" as const,
        shape: { ...shape, provider: id, region: region.name, machine_type: nearest },
      };
    }),
  ];
}

/** The next smaller and larger of its family, and those of other families with as many vCPUs. */
function likeTypes(types: readonly CatalogMachineType[], type: CatalogMachineType): string[] {
  const family = types.filter((each) => each.family === type.family);
  const place = family.indexOf(type);
  const beside = [family[place - 1], family[place + 1]].filter((each) => each !== undefined);
  const alike = types.filter(({ family, vcpus }) => family !== type.family && vcpus !== null && vcpus === type.vcpus);
  return [...beside, ...alike].slice(0, MOST_TYPES).map(({ name }) => name);
}

/** As many vCPUs as possible without being far off, then the nearest memory. */
function nearestType(types: readonly CatalogMachineType[], type: CatalogMachineType): string | undefined {
  if (type.vcpus === null) return undefined;
  const wanted = type.vcpus;
  const known = types.filter(({ vcpus }) => vcpus !== null);
  const [nearest] = known.toSorted(
    (one, other) =>
      Math.abs((one.vcpus ?? 0) - wanted) - Math.abs((other.vcpus ?? 0) - wanted) ||
      Math.abs(one.memory_mib - type.memory_mib) - Math.abs(other.memory_mib - type.memory_mib),
  );
  return nearest?.name;
}

export const TERMS = {
  on_demand: "On demand",
  reserved_1y: "Reserved for a year",
  reserved_3y: "Reserved for three years",
  spot: "Spot, for reference",
} as const;

const ITEMS: Record<EstimateLine["item"], string> = {
  machine: "Machines",
  block_storage: "Block storage",
  object_storage: "Backups",
  object_writes: "Writes to the backup store",
  object_reads: "Reads of the backup store",
  traffic_in_zone: "Traffic within zones",
  traffic_across_zones: "Traffic across zones",
  traffic_out: "Traffic out",
  node_fee: "Fee per node",
  cluster_fee: "Fee per cluster",
  markup: "Mark-up",
};

export function lineTitle({ item, name }: Pick<EstimateLine, "item" | "name">): string {
  return name ? `${ITEMS[item]}: ${name}` : ITEMS[item];
}

/** Where a line's price is from, as far as one should know before relying on it. */
export function priceNote({ price }: EstimateLine): string {
  const whose = price.origin === "operator" ? "Price of this installation" : "List price";
  return [
    price.source_date ? `${whose} of ${price.source_date}` : whose,
    price.borrowed && "of another region",
    price.assumption && "assumed, not published",
  ]
    .filter(Boolean)
    .join(", ");
}
