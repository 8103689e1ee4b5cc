import { describe, expect, it } from "vitest";
import { ApiError, type Catalog } from "../api";
import { LOCAL } from "./machine-types.testing";
import {
  asTestDrive,
  complaintsAt,
  firstDraft,
  inProvider,
  prefilled,
  REVIEW,
  readPrefill,
  reasonAgainst,
  reasonAgainstEngine,
  toOrder,
  withEngine,
} from "./order";

const catalog: Catalog = {
  engines: [
    {
      name: "cassandra",
      title: "Apache Cassandra",
      settings: [],
      versions: [
        { version: "5.0.6", is_default: false, upgrades_from: ["5.0.5"] },
        { version: "5.0.5", is_default: true, upgrades_from: [] },
      ],
      not_on: {},
    },
    {
      name: "scylla",
      title: "ScyllaDB",
      settings: [],
      versions: [{ version: "2026.1.8", is_default: true, upgrades_from: [] }],
      not_on: { local: "It needs machines of its own." },
    },
  ],
  providers: [
    {
      id: "local",
      name: "This machine",
      regions: [{ name: "local-1", title: "Local", zones: ["a", "b", "c", "d"], nodes_that_fit: { small: 6 } }],
      machine_types: [{ ...LOCAL, name: "small", memory_mib: 1024, heap_mib: 512 }],
    },
    { id: "empty", name: "Empty", regions: [], machine_types: [] },
  ],
};

function refusal(fields: Record<string, string>): ApiError {
  return new ApiError("Refused.", 422, "invalid_field", "", fields, "r", "");
}

describe("firstDraft", () => {
  it("starts with the catalogue's defaults over three zones", () => {
    expect(firstDraft(catalog)).toMatchObject({
      engine: "cassandra",
      engine_version: "5.0.5",
      provider: "local",
      region: "local-1",
      zones: ["a", "b", "c"],
      machine_type: "small",
      nodes_per_zone: 1,
    });
  });

  it("forgets account, region, zones and type with the provider", () => {
    expect(inProvider(catalog, "empty")).toEqual({
      provider: "empty",
      cloud_account: null,
      region: "",
      zones: [],
      machine_type: "",
    });
  });
});

describe("withEngine", () => {
  const draft = firstDraft(catalog);

  it("leaves a provider that cannot run the engine, and keeps one that can", () => {
    expect(withEngine(catalog, draft, "scylla")).toEqual({
      engine: "scylla",
      engine_version: "2026.1.8",
      provider: "empty",
      cloud_account: null,
      region: "",
      zones: [],
      machine_type: "",
    });
    expect(withEngine(catalog, draft, "cassandra")).toEqual({ engine: "cassandra", engine_version: "5.0.5" });
  });

  it("says why, only when no provider can", () => {
    expect(reasonAgainst(catalog, "scylla", "local")).toBe("It needs machines of its own.");
    expect(reasonAgainst(catalog, "scylla", "empty")).toBeUndefined();
    expect(reasonAgainstEngine(catalog, "scylla")).toBeUndefined();
    const alone = { ...catalog, providers: catalog.providers.slice(0, 1) };
    expect(reasonAgainstEngine(alone, "scylla")).toBe("It needs machines of its own.");
    expect(reasonAgainstEngine(alone, "cassandra")).toBeUndefined();
  });
});

describe("asTestDrive", () => {
  const large = { ...firstDraft(catalog), nodes_per_zone: 4, termination_protection: true };
  const drive = { ...large, ...asTestDrive(catalog, large, true) };

  it("chooses one node of the first type that may be deleted", () => {
    expect(drive).toMatchObject({
      zones: ["a"],
      machine_type: "small",
      nodes_per_zone: 1,
      termination_protection: false,
      test_drive: { hours: 24, workload: "key-value" },
    });
    expect(toOrder(drive, 0).test_drive).toEqual(drive.test_drive);
  });

  it("goes back to three zones when it is none any more", () => {
    expect(asTestDrive(catalog, drive, false)).toEqual({ zones: ["a", "b", "c"], test_drive: null });
  });

  it("stays at one zone when another provider or engine is chosen", () => {
    expect(inProvider(catalog, "local", true).zones).toEqual(["a"]);
  });
});

describe("prefilled", () => {
  it("takes what the catalogue has", () => {
    const wanted = { provider: "local", region: "local-1", zones: 2, machine_type: "small", nodes_per_zone: 4 };
    expect(prefilled(catalog, wanted)).toMatchObject({ ...wanted, zones: ["a", "b"] });
  });

  it("leaves what it does not have, and a provider that cannot run the engine", () => {
    expect(prefilled(catalog, { engine: "x", provider: "y", region: "z", machine_type: "w" })).toEqual(
      firstDraft(catalog),
    );
    expect(prefilled(catalog, { engine: "scylla", provider: "local" })).toMatchObject({
      engine: "scylla",
      provider: "empty",
    });
  });

  it("is read from an address that anybody may have typed", () => {
    expect(readPrefill({ engine: 3, provider: "aws", zones: 2, nodes_per_zone: 1.5, reads: -1, step: 2 })).toEqual({
      provider: "aws",
      zones: 2,
    });
  });
});

describe("toOrder", () => {
  it("has a name of its own before the name is asked for, and the real one after", () => {
    const draft = { ...firstDraft(catalog), tags: [{ key: "team", value: "a" }] };
    expect(toOrder(draft, 1).name).toMatch(/^draft-[0-9a-f]+$/);
    expect(toOrder(draft, 1).options).toEqual({});
    expect(toOrder({ ...draft, name: "orders" }, 3)).toMatchObject({
      name: "orders",
      options: { tags: { team: "a" } },
    });
  });

  it("leaves out tags that were never filled in", () => {
    expect(toOrder({ ...firstDraft(catalog), tags: [{ key: "", value: "" }] }, REVIEW).options).toEqual({ tags: {} });
  });
});

describe("complaintsAt", () => {
  it("shows what belongs to the step at its field", () => {
    expect(complaintsAt(refusal({ "zones.1": "There is no zone x." }), 1)).toEqual({
      step: 1,
      fields: { zones: "There is no zone x." },
      error: null,
    });
  });

  it("does not hold up a step for what is asked later", () => {
    expect(complaintsAt(refusal({ nodes_per_zone: "Six fit." }), 1)).toEqual({ step: null, fields: {}, error: null });
  });

  it("goes back to the first step that is wrong", () => {
    expect(complaintsAt(refusal({ name: "Taken.", engine_version: "Gone." }), REVIEW)).toMatchObject({
      step: 0,
      fields: { name: "Taken.", engine_version: "Gone." },
    });
  });

  it("stops with the whole answer when no field is to blame", () => {
    const error = refusal({});
    expect(complaintsAt(error, 2)).toEqual({ step: 2, fields: {}, error });
  });
});
