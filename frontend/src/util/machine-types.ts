import type { CatalogMachineType } from "../api";
import { formatBytes, formatMib } from "./size";

const MOST_TILES = 6;

/** Whether there are too many machine types to show each as a tile. */
export function needTable(types: readonly CatalogMachineType[]): boolean {
  return types.length > MOST_TILES;
}

export function familiesOf(types: readonly CatalogMachineType[]): string[] {
  return [...new Set(types.map(({ family }) => family))].filter((family) => family !== "").sort();
}

/** Those of a family ("": of all) whose name, family or architecture contains every word of the text. */
export function findTypes(types: readonly CatalogMachineType[], text: string, family: string): CatalogMachineType[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return types.filter(
    (type) =>
      (family === "" || type.family === family) &&
      words.every((word) => `${type.name} ${type.family} ${type.architecture}`.toLowerCase().includes(word)),
  );
}

/** What a machine type can be sorted by. Names are in the catalogue's order, which knows that 2xlarge is not above 16xlarge. */
const SORTED_BY = {
  vcpus: (type: CatalogMachineType) => type.vcpus,
  memory: (type: CatalogMachineType) => type.memory_mib,
  nvme: (type: CatalogMachineType) => type.storage_gib,
  iops: (type: CatalogMachineType) => type.io?.read_iops ?? null,
  bandwidth: (type: CatalogMachineType) => type.io?.read_bandwidth ?? null,
  network: (type: CatalogMachineType) => type.network_peak_gbps,
  price: (type: CatalogMachineType) => type.price?.micros_per_hour ?? null,
};

export type SortKey = keyof typeof SORTED_BY | "type";

/** Sorted by a figure; what has no such figure comes last in both directions, equal ones stay in the catalogue's order. */
export function sortTypes(
  types: readonly CatalogMachineType[],
  key: SortKey,
  isDescending: boolean,
): CatalogMachineType[] {
  if (key === "type") return isDescending ? types.toReversed() : [...types];
  const figure = SORTED_BY[key];
  return types.toSorted((one, other) => {
    const [a, b] = [figure(one), figure(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return isDescending ? b - a : a - b;
  });
}

/** Requests per second: "35K", "1.6M". */
export function formatIops(iops: number): string {
  return iops.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 });
}

/** Bytes per second: "1.9 GiB/s". */
export function formatBandwidth(bytes: number): string {
  return `${formatBytes(bytes)}/s`;
}

/** The disks as the provider counts them, and what they come to: "4 × 1,900 GB". "–": the type shares a file system. */
export function formatNvme({ nvme_count, nvme_size_gb }: CatalogMachineType): string {
  if (nvme_count === null || nvme_size_gb === null) return "–";
  return `${nvme_count} × ${nvme_size_gb.toLocaleString("en")} GB`;
}

/** "12 Gbit/s", "2.5, up to 10 Gbit/s", or "Up to 32 Gbit/s" where only the most is published. */
export function formatNetwork({ network_baseline_gbps: always, network_peak_gbps: most }: CatalogMachineType): string {
  if (most === null) return always === null ? "–" : `${always} Gbit/s`;
  if (always === null) return `Up to ${most} Gbit/s`;
  return always === most ? `${most} Gbit/s` : `${always}, up to ${most} Gbit/s`;
}

/** On demand, with its currency: "0.624 USD". */
export function formatPrice({ price }: CatalogMachineType): string {
  if (price === null) return "–";
  const amount = (price.micros_per_hour / 1_000_000).toLocaleString("en", {
    minimumFractionDigits: 3,
    maximumFractionDigits: 3,
  });
  return `${amount} ${price.currency}`;
}

/** Where the figures of the disks come from; none yet: the first boot measures them. "–": there are no own disks. */
export function ioSource({ io, nvme_count }: CatalogMachineType): string {
  if (io === null) return nvme_count === null ? "–" : "Measured at first boot";
  return { preset: "Preset of the type", gcp_ladder: "By number of SSDs" }[io.source];
}

/** What a type has, as label and value, for a summary; what it does not have is left out. */
export function figuresOf(type: CatalogMachineType): { label: string; value: string }[] {
  const { io, price } = type;
  const cores = type.cores !== null && type.threads_per_core !== null && `${type.cores} × ${type.threads_per_core}`;
  const nodes = type.numa_nodes !== null && `${type.numa_nodes}${type.numa_source === "expected" ? ", expected" : ""}`;
  return [
    { label: "vCPU", value: type.vcpus !== null && String(type.vcpus) },
    { label: "Cores × threads", value: cores },
    { label: "NUMA nodes", value: nodes },
    { label: "Architecture", value: type.architecture },
    { label: "Shards after pinning", value: type.shards !== null && String(type.shards) },
    { label: "Memory", value: `${formatMib(type.memory_mib)}, ${formatMib(type.heap_mib)} of it heap` },
    { label: "Local NVMe", value: type.nvme_count !== null && formatNvme(type) },
    {
      label: "4 KiB reads, writes per second",
      value: io && `${formatIops(io.read_iops)}, ${formatIops(io.write_iops)}`,
    },
    {
      label: "Read, write bandwidth",
      value: io && `${formatBandwidth(io.read_bandwidth)}, ${formatBandwidth(io.write_bandwidth)}`,
    },
    {
      label: "Source of disk figures",
      value: type.nvme_count !== null && [ioSource(type), io?.note].filter(Boolean).join(". "),
    },
    { label: "Network", value: type.network_peak_gbps !== null && formatNetwork(type) },
    {
      label: "Price per node and hour",
      value: price && `${formatPrice(type)}, on demand in ${price.region} on ${price.date}`,
    },
  ].filter((figure): figure is { label: string; value: string } => Boolean(figure.value));
}
