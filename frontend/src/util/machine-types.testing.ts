import type { CatalogMachineType } from "../api";

/** A machine type of a cloud, with every figure. */
export function machineType(name: string, changes: Partial<CatalogMachineType> = {}): CatalogMachineType {
  return {
    name,
    description: "",
    family: name.split(".")[0] ?? "",
    architecture: "x86_64",
    vcpus: 8,
    cores: 4,
    threads_per_core: 2,
    numa_nodes: 1,
    numa_source: "expected",
    shards: 7,
    memory_mib: 65536,
    heap_mib: 16384,
    storage_gib: 1746,
    nvme_count: 1,
    nvme_size_gb: 1875,
    io: {
      read_iops: 218_786,
      write_iops: 121_499,
      read_bandwidth: 3_000_000_000,
      write_bandwidth: 2_200_000_000,
      source: "preset",
      note: "",
    },
    network_baseline_gbps: 4.69,
    network_peak_gbps: 12,
    price: { micros_per_hour: 686_400, currency: "USD", region: "us-east-1", date: "2026-07-06" },
    ...changes,
  };
}

/** One without machines of its own. */
export const LOCAL = machineType("local.small", {
  description: "For trying things out",
  family: "",
  architecture: "",
  vcpus: null,
  cores: null,
  threads_per_core: null,
  numa_nodes: null,
  numa_source: null,
  shards: null,
  memory_mib: 600,
  heap_mib: 256,
  storage_gib: null,
  nvme_count: null,
  nvme_size_gb: null,
  io: null,
  network_baseline_gbps: null,
  network_peak_gbps: null,
  price: null,
});
