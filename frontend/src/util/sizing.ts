import type { Catalog, SizingChoices, SizingOrder, SizingShape } from "../api";
import { type Prefill, reasonAgainst } from "./order";

const GIB = 2 ** 30;

/** What stands in the planner's address: what was asked, in the units that people type. */
export interface SizingSearch {
  engine?: string;
  provider?: string;
  region?: string;
  zones?: number;
  reads?: number;
  writes?: number;
  /** Bytes. */
  row?: number;
  /** GiB. */
  data?: number;
  /** Percent a month. */
  growth?: number;
  months?: number;
  replicas?: number;
  /** Milliseconds. */
  p99?: number;
  /** Percent. */
  spare?: number;
  /** Rows a second and core, as measured. */
  scan?: number;
  /** The id of an own cluster whose throughput counts; none: what was published. */
  like?: string;
}

export const NUMBERS = [
  "zones",
  "reads",
  "writes",
  "row",
  "data",
  "growth",
  "months",
  "replicas",
  "p99",
  "spare",
  "scan",
] as const;
export type SizingNumber = (typeof NUMBERS)[number];

/** Which field of the API's order each is. */
export const FIELDS: Record<SizingNumber, keyof SizingOrder> = {
  zones: "zones",
  reads: "reads_per_second",
  writes: "writes_per_second",
  row: "row_bytes",
  data: "data_bytes",
  growth: "growth_percent_per_month",
  months: "months_ahead",
  replicas: "replication_factor",
  p99: "p99_ms",
  spare: "spare_percent",
  scan: "scan_rows_per_core",
};

/** The form, as typed. */
export type SizingDraft = { engine: string; provider: string; region: string; like: string } & Record<
  SizingNumber,
  string
>;

export function readSizing(search: Record<string, unknown>): SizingSearch {
  const found: SizingSearch = {};
  for (const name of ["engine", "provider", "region", "like"] as const) {
    const value = search[name];
    if (typeof value === "string" && value !== "") found[name] = value;
  }
  for (const name of NUMBERS) {
    const value = search[name];
    if (typeof value === "number" && Number.isFinite(value)) found[name] = value;
  }
  return found;
}

/** What was asked last, or figures to begin with. */
export function draftOf(search: SizingSearch, choices: SizingChoices): SizingDraft {
  const provider =
    choices.providers.find(({ id }) => id === search.provider) ??
    choices.providers.find(({ is_offered }) => is_offered) ??
    choices.providers[0];
  const text = (value: number | undefined, usual: string) => (value === undefined ? usual : String(value));
  return {
    engine: search.engine ?? choices.engines[0]?.name ?? "",
    provider: provider?.id ?? "",
    region: search.region ?? provider?.regions[0]?.name ?? "",
    like: search.like ?? "",
    zones: text(search.zones, "3"),
    reads: text(search.reads, "10000"),
    writes: text(search.writes, "5000"),
    row: text(search.row, "1024"),
    data: text(search.data, "500"),
    growth: text(search.growth, "3"),
    months: text(search.months, "12"),
    replicas: text(search.replicas, "3"),
    p99: text(search.p99, "12"),
    spare: text(search.spare, "25"),
    scan: text(search.scan, ""),
  };
}

/** What is not a whole number, by field. Limits are the API's to say. */
export function notWhole(draft: SizingDraft): Partial<Record<SizingNumber, string>> {
  const wrong = NUMBERS.filter((name) => !/^\d+$/.test(draft[name].trim()) && !(name === "scan" && draft.scan === ""));
  return Object.fromEntries(wrong.map((name) => [name, "Enter a whole number."]));
}

export function toSearch(draft: SizingDraft): SizingSearch {
  const { engine, provider, region, like } = draft;
  const numbers = NUMBERS.filter((name) => draft[name].trim() !== "").map((name) => [name, Number(draft[name])]);
  return { engine, provider, region, ...(like !== "" && { like }), ...Object.fromEntries(numbers) };
}

/** The order to send; null: nothing was asked yet. */
export function toSizingOrder(search: SizingSearch): SizingOrder | null {
  const { engine, provider, region, reads, writes, data } = search;
  if (!engine || !provider || reads === undefined || writes === undefined || data === undefined) return null;
  return {
    engine,
    provider,
    region: region ?? null,
    reads_per_second: reads,
    writes_per_second: writes,
    data_bytes: data * GIB,
    ...(search.zones !== undefined && { zones: search.zones }),
    ...(search.row !== undefined && { row_bytes: search.row }),
    ...(search.growth !== undefined && { growth_percent_per_month: search.growth }),
    ...(search.months !== undefined && { months_ahead: search.months }),
    ...(search.replicas !== undefined && { replication_factor: search.replicas }),
    ...(search.p99 !== undefined && { p99_ms: search.p99 }),
    ...(search.spare !== undefined && { spare_percent: search.spare }),
    ...(search.scan !== undefined && { scan_rows_per_core: search.scan }),
    ...(search.like !== undefined && { like_cluster_id: search.like }),
  };
}

/** What the wizard is opened with. */
export function orderOf(search: SizingSearch, shape: SizingShape): Prefill {
  return {
    engine: search.engine,
    provider: search.provider,
    region: search.region,
    zones: shape.zones,
    machine_type: shape.machine_type,
    nodes_per_zone: shape.nodes_per_zone,
    reads: search.reads,
    writes: search.writes,
    row: search.row,
  };
}

/** Why a shape cannot be ordered here; undefined: it can. */
export function reasonAgainstShape(catalog: Catalog, search: SizingSearch, shape: SizingShape): string | undefined {
  const provider = catalog.providers.find(({ id }) => id === search.provider);
  if (!provider) return "This installation does not offer the provider.";
  const region = provider.regions.find(({ name }) => name === search.region);
  if (!region) return "This installation does not offer the region.";
  if (region.zones.length < shape.zones) return `The region has ${region.zones.length} zones.`;
  if (!provider.machine_types.some(({ name }) => name === shape.machine_type)) {
    return "This installation does not offer the machine type.";
  }
  return reasonAgainst(catalog, search.engine ?? "", provider.id);
}

export const LIMITS: Record<SizingShape["first_limit"], string> = {
  throughput: "Throughput",
  disk: "Disk",
  memory: "Memory for the data",
  network: "Network",
};
