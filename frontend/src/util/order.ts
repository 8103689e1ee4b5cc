import type { ApiError, Catalog, CatalogRegion, ClusterOrder } from "../api";

// The wizard's state and how it maps to the API's order. What is right and wrong is the API's business: every step is
// checked by asking it; this only finds the place where its answer belongs.

export interface Tag {
  key: string;
  value: string;
}

export interface Draft extends Required<Omit<ClusterOrder, "options" | "engine_version" | "healing" | "image_build">> {
  engine_version: string;
  tags: Tag[];
}

/** Which of the order's fields each step asks for. The review, the last step, asks for none. */
export const STEP_FIELDS: readonly (readonly string[])[] = [
  ["engine", "engine_version", "test_drive"],
  ["provider", "cloud_account", "region", "zones"],
  ["machine_type", "nodes_per_zone"],
  ["name", "options", "termination_protection"],
  [],
];

export const REVIEW = STEP_FIELDS.length - 1;
const NAME_STEP = 3;
const USUAL_ZONES = 3;

export const FIRST_TEST_DRIVE = { hours: 24, workload: "key-value", rows: 10_000, operations_per_second: 50 } as const;

/** The catalogue's defaults: most people only add a name. */
export function firstDraft(catalog: Catalog): Draft {
  const engine = catalog.engines[0];
  return {
    name: "",
    engine: engine?.name ?? "",
    engine_version: defaultVersion(catalog, engine?.name ?? ""),
    ...inProvider(catalog, catalog.providers[0]?.id ?? ""),
    nodes_per_zone: 1,
    termination_protection: false,
    test_drive: null,
    tags: [],
  };
}

/** What an order is begun with elsewhere, in an address: nothing of it need be right. */
export interface Prefill {
  engine?: string;
  provider?: string;
  region?: string;
  /** How many. */
  zones?: number;
  machine_type?: string;
  nodes_per_zone?: number;
  /** A second, for what it costs. */
  reads?: number;
  writes?: number;
  /** Bytes. */
  row?: number;
}

/** The first draft with what was asked for, as far as the catalogue has it. */
export function prefilled(catalog: Catalog, wanted: Prefill): Draft {
  const draft = firstDraft(catalog);
  if (catalog.engines.some(({ name }) => name === wanted.engine)) {
    Object.assign(draft, withEngine(catalog, draft, wanted.engine ?? ""));
  }
  const provider = catalog.providers.find(({ id }) => id === wanted.provider);
  if (!provider || reasonAgainst(catalog, draft.engine, provider.id) !== undefined) return draft;
  Object.assign(draft, inProvider(catalog, provider.id));
  const region = provider.regions.find(({ name }) => name === wanted.region);
  if (region) {
    draft.region = region.name;
    draft.zones = region.zones.slice(0, wanted.zones ?? USUAL_ZONES);
  }
  if (wanted.machine_type && provider.machine_types.some(({ name }) => name === wanted.machine_type)) {
    draft.machine_type = wanted.machine_type;
  }
  if (wanted.nodes_per_zone !== undefined) draft.nodes_per_zone = wanted.nodes_per_zone;
  return draft;
}

const PREFILL_WORDS = ["engine", "provider", "region", "machine_type"] as const;
const PREFILL_NUMBERS = ["zones", "nodes_per_zone", "reads", "writes", "row"] as const;

export function readPrefill(search: Record<string, unknown>): Prefill {
  const found: Prefill = {};
  for (const name of PREFILL_WORDS) {
    const value = search[name];
    if (typeof value === "string" && value !== "") found[name] = value;
  }
  for (const name of PREFILL_NUMBERS) {
    const value = search[name];
    if (typeof value === "number" && Number.isInteger(value) && value >= 0) found[name] = value;
  }
  return found;
}

export function defaultVersion(catalog: Catalog, engine: string): string {
  const versions = catalog.engines.find(({ name }) => name === engine)?.versions ?? [];
  return (versions.find(({ is_default }) => is_default) ?? versions[0])?.version ?? "";
}

/** Why an engine cannot be ordered with a provider; undefined: it can. */
export function reasonAgainst(catalog: Catalog, engine: string, provider: string): string | undefined {
  return catalog.engines.find(({ name }) => name === engine)?.not_on[provider];
}

/** What changes when another engine is chosen: its own version, and a provider that can run it if this one cannot. */
export function withEngine(catalog: Catalog, draft: Draft, engine: string): Partial<Draft> {
  const chosen = { engine, engine_version: defaultVersion(catalog, engine) };
  if (reasonAgainst(catalog, engine, draft.provider) === undefined) return chosen;
  const other = catalog.providers.find(({ id }) => reasonAgainst(catalog, engine, id) === undefined);
  return other === undefined ? chosen : { ...chosen, ...inProvider(catalog, other.id, draft.test_drive !== null) };
}

/** Why an engine cannot be ordered at all: no provider there is can run it. */
export function reasonAgainstEngine(catalog: Catalog, engine: string): string | undefined {
  const reasons = catalog.providers.map(({ id }) => reasonAgainst(catalog, engine, id));
  return reasons.includes(undefined) ? undefined : reasons[0];
}

/** What changes when it is to be a test drive, or not any more. One node is enough to look around. */
export function asTestDrive(catalog: Catalog, draft: Draft, wanted: boolean): Partial<Draft> {
  const provider = catalog.providers.find(({ id }) => id === draft.provider);
  const zones = usualZones(
    provider?.regions.find(({ name }) => name === draft.region),
    wanted,
  );
  if (!wanted) return { zones, test_drive: null };
  return {
    zones,
    machine_type: provider?.machine_types[0]?.name ?? "",
    nodes_per_zone: 1,
    termination_protection: false,
    test_drive: FIRST_TEST_DRIVE,
  };
}

/** What changes when another provider is chosen: nothing of the old one's regions and types exists there. */
export function inProvider(
  catalog: Catalog,
  id: string,
  isTestDrive = false,
): Pick<Draft, "provider" | "cloud_account" | "region" | "zones" | "machine_type"> {
  const provider = catalog.providers.find((each) => each.id === id);
  const region = provider?.regions[0];
  return {
    provider: id,
    cloud_account: null,
    region: region?.name ?? "",
    zones: usualZones(region, isTestDrive),
    machine_type: provider?.machine_types[0]?.name ?? "",
  };
}

export function usualZones(region: CatalogRegion | undefined, isTestDrive = false): string[] {
  return region?.zones.slice(0, isTestDrive ? 1 : USUAL_ZONES) ?? [];
}

/** The order to check or send. Before the name is asked for, one stands in that is certainly free. */
export function toOrder(draft: Draft, step: number): ClusterOrder {
  const { tags, ...rest } = draft;
  const named = tags.filter(({ key, value }) => key !== "" || value !== "");
  return {
    ...rest,
    name: step < NAME_STEP ? STAND_IN : draft.name,
    options: step < NAME_STEP ? {} : { tags: Object.fromEntries(named.map(({ key, value }) => [key, value])) },
  };
}

const STAND_IN = `draft-${Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16)).join("")}`;

export interface Complaints {
  /** The first step with something wrong; null: nothing that has been asked for so far is wrong. */
  step: number | null;
  fields: Record<string, string>;
  /** What cannot be said at a field. */
  error: ApiError | null;
}

/** Sorts an answer to a check at `step`: what is only wrong in later steps has not been asked for yet. */
export function complaintsAt(error: ApiError, step: number): Complaints {
  const fields: Record<string, string> = {};
  let first: number | null = null;
  let hasPlace = false;
  for (const [path, message] of Object.entries(error.fields)) {
    const field = path.split(".")[0] ?? path;
    const home = STEP_FIELDS.findIndex((names) => names.includes(field));
    if (home < 0) continue;
    hasPlace = true;
    if (home > step) continue;
    fields[field] ??= message;
    first = first === null ? home : Math.min(first, home);
  }
  // An answer about nothing on any page (no permission, no connection) stops the wizard where it is.
  return hasPlace ? { step: first, fields, error: null } : { step, fields: {}, error };
}
