import { describe, expect, it } from "vitest";
import type { Catalog, CatalogMachineType, EstimateLine } from "../api";
import { comparisonsFor, lineTitle, priceNote } from "./estimates";
import { LOCAL, machineType } from "./machine-types.testing";

const type = (name: string, family: string, vcpus: number, memory_mib: number): CatalogMachineType => ({
  ...machineType(name),
  family,
  vcpus,
  memory_mib,
});
const region = (name: string) => ({ name, title: name, zones: ["a", "b", "c"], nodes_that_fit: {} });
const catalog: Catalog = {
  engines: [],
  providers: [
    {
      id: "aws",
      name: "AWS",
      regions: [region("one"), region("two")],
      machine_types: [
        type("i3.large", "i3", 2, 100),
        type("i3.xlarge", "i3", 4, 200),
        type("i3.2xlarge", "i3", 8, 400),
        type("i4i.xlarge", "i4i", 4, 210),
        type("i4i.2xlarge", "i4i", 8, 420),
      ],
    },
    {
      id: "gcp",
      name: "Google",
      regions: [region("three")],
      machine_types: [type("far", "n2", 64, 200), type("more", "n2", 4, 900), type("near", "n2", 4, 205)],
    },
    { id: "local", name: "Here", regions: [region("four")], machine_types: [LOCAL] },
  ],
};
const shape = { provider: "aws", region: "one", machine_type: "i3.xlarge", nodes: 3, zones: 3 };

describe("comparisonsFor", () => {
  it("takes neighbours in the family, as many vCPUs elsewhere, other regions and the nearest type of other clouds", () => {
    expect(comparisonsFor(catalog, shape)).toEqual([
      { kind: "type", shape: { ...shape, machine_type: "i3.large" } },
      { kind: "type", shape: { ...shape, machine_type: "i3.2xlarge" } },
      { kind: "type", shape: { ...shape, machine_type: "i4i.xlarge" } },
      { kind: "region", shape: { ...shape, region: "two" } },
      { kind: "provider", shape: { ...shape, provider: "gcp", region: "three", machine_type: "near" } },
    ]);
  });

  it("compares nothing with what the catalogue does not know", () => {
    expect(comparisonsFor(catalog, { ...shape, machine_type: "gone" })).toEqual([]);
  });

  it("never asks for more than the API takes", () => {
    const regions = Array.from({ length: 40 }, (_, number) => region(`r${number}`));
    const types = Array.from({ length: 40 }, (_, number) => type(`t${number}`, `f${number}`, 4, 1));
    const [aws] = catalog.providers;
    if (!aws) throw new Error("no provider");
    const large = { ...catalog, providers: [{ ...aws, regions, machine_types: [...aws.machine_types, ...types] }] };
    expect(comparisonsFor(large, { ...shape, region: "r0" }).length).toBeLessThanOrEqual(20);
  });
});

const line: EstimateLine = {
  item: "machine",
  name: "i3.metal",
  formula: "4 machines × 4.992000",
  amounts: { hour: 1, month: 730, year: 8760 },
  price: {
    micros: 1,
    unit: "machine and hour",
    region: "us-east-1",
    origin: "list",
    valid_from: "2026-07-06T00:00:00Z",
    source: "Price list",
    source_date: "2026-07-06",
    assumption: false,
    borrowed: false,
  },
};

it("names what a line is for", () => {
  expect(lineTitle(line)).toBe("Machines: i3.metal");
  expect(lineTitle({ ...line, item: "markup", name: "" })).toBe("Mark-up");
});

it("says whose price it is, and when it is not quite that", () => {
  expect(priceNote(line)).toBe("List price of 2026-07-06");
  const price = { ...line.price, origin: "operator", source_date: null, borrowed: true, assumption: true };
  expect(priceNote({ ...line, price })).toBe("Price of this installation, of another region, assumed, not published");
});
