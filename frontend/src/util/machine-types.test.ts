import { expect, it } from "vitest";
import {
  familiesOf,
  figuresOf,
  findTypes,
  formatNetwork,
  formatNvme,
  formatPrice,
  ioSource,
  needTable,
  sortTypes,
} from "./machine-types";
import { LOCAL, machineType } from "./machine-types.testing";

it("shows up to six types as tiles", () => {
  const types = Array.from({ length: 7 }, (_, index) => machineType(`i4i.${index}`));
  expect(needTable(types)).toBe(true);
  expect(needTable(types.slice(0, 6))).toBe(false);
});

it("finds by every word, and within a family", () => {
  const types = [
    machineType("i4i.large"),
    machineType("i4i.xlarge"),
    machineType("i8g.large", { architecture: "arm64" }),
  ];
  expect(familiesOf([...types, LOCAL])).toEqual(["i4i", "i8g"]);
  expect(findTypes(types, "ARM64 large", "").map(({ name }) => name)).toEqual(["i8g.large"]);
  expect(findTypes(types, "", "i4i")).toHaveLength(2);
  expect(findTypes(types, "metal", "i4i")).toEqual([]);
});

it("sorts by a figure and puts last what has none", () => {
  const types = [LOCAL, machineType("dear"), machineType("cheap", { price: { ...PRICE, micros_per_hour: 1 } })];
  expect(sortTypes(types, "price", false).map(({ name }) => name)).toEqual(["cheap", "dear", "local.small"]);
  expect(sortTypes(types, "price", true).map(({ name }) => name)).toEqual(["dear", "cheap", "local.small"]);
  expect(sortTypes(types, "type", false)).toEqual(types);
});

const PRICE = { micros_per_hour: 9_060_480, currency: "USD", region: "us-east-1", date: "2026-07-06" };

it("says what the network gives, as far as it is known", () => {
  expect(formatNetwork(machineType("a"))).toBe("4.69, up to 12 Gbit/s");
  expect(formatNetwork(machineType("a", { network_baseline_gbps: 12 }))).toBe("12 Gbit/s");
  expect(formatNetwork(machineType("a", { network_baseline_gbps: null }))).toBe("Up to 12 Gbit/s");
  expect(formatNetwork(LOCAL)).toBe("–");
});

it("says where the figures of the disks come from", () => {
  expect(ioSource(machineType("a"))).toBe("Preset of the type");
  expect(ioSource(machineType("a", { io: null }))).toBe("Measured at first boot");
  expect(ioSource(LOCAL)).toBe("–");
});

it("formats disks and prices", () => {
  expect(formatNvme(machineType("a", { nvme_count: 4, nvme_size_gb: 1900 }))).toBe("4 × 1,900 GB");
  expect(formatPrice(machineType("a", { price: PRICE }))).toBe("9.060 USD");
});

it("sums up a type, and leaves out what it does not have", () => {
  const figures = Object.fromEntries(figuresOf(machineType("a")).map(({ label, value }) => [label, value]));
  expect(figures).toMatchObject({
    "Shards after pinning": "7",
    "NUMA nodes": "1, expected",
    "4 KiB reads, writes per second": "218.8K, 121.5K",
    "Price per node and hour": "0.686 USD, on demand in us-east-1 on 2026-07-06",
  });
  expect(figuresOf(LOCAL)).toEqual([{ label: "Memory", value: "600 MiB, 256 MiB of it heap" }]);
});
