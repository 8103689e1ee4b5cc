import { describe, expect, it } from "vitest";
import type { Catalog, SizingChoices, SizingShape } from "../api";
import { machineType } from "./machine-types.testing";
import { draftOf, notWhole, orderOf, readSizing, reasonAgainstShape, toSearch, toSizingOrder } from "./sizing";

const choices: SizingChoices = {
  engines: [{ name: "cassandra", title: "Apache Cassandra" }],
  providers: [
    { id: "aws", name: "AWS", is_offered: false, regions: [{ name: "us-east-1", title: "Virginia", zones: 3 }] },
    { id: "gcp", name: "Google", is_offered: true, regions: [{ name: "europe-west4", title: "NL", zones: 3 }] },
  ],
  figures: [],
  measured: [],
};
const shape = { machine_type: "i3.large", zones: 3, nodes_per_zone: 2, nodes: 6 } as SizingShape;
const asked = { engine: "cassandra", provider: "aws", region: "us-east-1", reads: 10, writes: 0, data: 2, row: 100 };

describe("the address", () => {
  it("begins with a provider that is offered", () => {
    expect(draftOf({}, choices)).toMatchObject({ provider: "gcp", region: "europe-west4", engine: "cassandra" });
  });

  it("keeps what was asked, through the form and back", () => {
    const draft = draftOf(asked, choices);
    expect(draft).toMatchObject({ provider: "aws", reads: "10", writes: "0", spare: "25", scan: "" });
    expect(toSearch(draft)).toMatchObject(asked);
    expect(toSearch(draft)).not.toHaveProperty("scan");
    expect(readSizing({ ...toSearch(draft) })).toEqual(toSearch(draft));
  });

  it("names the cluster whose throughput counts, or none", () => {
    const own = { ...asked, like: "clu_1" };
    expect(toSearch(draftOf(readSizing(own), choices))).toMatchObject(own);
    expect(toSizingOrder(own)).toMatchObject({ like_cluster_id: "clu_1" });
    expect(toSearch(draftOf(asked, choices))).not.toHaveProperty("like");
  });

  it("is not trusted", () => {
    expect(readSizing({ reads: "many", writes: Number.NaN, engine: 7, data: null, zones: 3 })).toEqual({ zones: 3 });
  });

  it("asks nothing before it says what for, and everything in the API's units then", () => {
    expect(toSizingOrder({})).toBeNull();
    expect(toSizingOrder({ ...asked, reads: undefined })).toBeNull();
    expect(toSizingOrder(asked)).toEqual({
      engine: "cassandra",
      provider: "aws",
      region: "us-east-1",
      reads_per_second: 10,
      writes_per_second: 0,
      data_bytes: 2 * 2 ** 30,
      row_bytes: 100,
    });
  });
});

it("finds what is not a whole number; only the scan speed may be left out", () => {
  const draft = { ...draftOf(asked, choices), reads: "", writes: "1.5", data: "-1" };
  expect(Object.keys(notWhole(draft))).toEqual(["reads", "writes", "data"]);
  expect(notWhole(draftOf(asked, choices))).toEqual({});
});

describe("ordering a shape", () => {
  const catalog: Catalog = {
    engines: [{ name: "cassandra", title: "C", settings: [], versions: [], not_on: {} }],
    providers: [
      {
        id: "aws",
        name: "AWS",
        regions: [{ name: "us-east-1", title: "V", zones: ["a", "b", "c"], nodes_that_fit: {} }],
        machine_types: [machineType("i3.large")],
      },
    ],
  };

  it("opens the wizard with the shape and its load", () => {
    expect(orderOf(asked, shape)).toEqual({
      engine: "cassandra",
      provider: "aws",
      region: "us-east-1",
      zones: 3,
      machine_type: "i3.large",
      nodes_per_zone: 2,
      reads: 10,
      writes: 0,
      row: 100,
    });
  });

  it("says why where it cannot be ordered", () => {
    expect(reasonAgainstShape(catalog, asked, shape)).toBeUndefined();
    expect(reasonAgainstShape(catalog, { ...asked, provider: "gcp" }, shape)).toMatch(/provider/);
    expect(reasonAgainstShape(catalog, { ...asked, region: "x" }, shape)).toMatch(/region/);
    expect(reasonAgainstShape(catalog, asked, { ...shape, zones: 4 })).toBe("The region has 3 zones.");
    expect(reasonAgainstShape(catalog, asked, { ...shape, machine_type: "x" })).toMatch(/machine type/);
  });
});
