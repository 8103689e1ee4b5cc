import type { CostItem, CostSearchGroup, Usage } from "../api";
import { readCursors, readText, readWord } from "./search";

/** What a cost is made of, in the order in which it is shown everywhere. */
export const COST_PARTS: { id: keyof CostItem["parts"]; label: string }[] = [
  { id: "compute", label: "Compute" },
  { id: "storage", label: "Storage" },
  { id: "backups", label: "Backups" },
  { id: "traffic", label: "Traffic" },
  { id: "overhead", label: "Mark-up and fees" },
];

/** The parts of the organisation's page. */
export const COST_VIEWS = ["spent", "savings", "invoices", "usage"] as const;
export type CostView = (typeof COST_VIEWS)[number];
export const COST_VIEW_LABELS: Record<CostView, string> = {
  spent: "Spent",
  savings: "Savings",
  invoices: "Invoices",
  usage: "Usage",
};

export const COST_RANGES = ["month", "last", "quarter", "year"] as const;
export type CostRange = (typeof COST_RANGES)[number];
export const COST_RANGE_LABELS: Record<CostRange, string> = {
  month: "This month",
  last: "Last month",
  quarter: "Three months",
  year: "Twelve months",
};

export const COST_GROUPS = ["cluster", "table", "engine", "tag"] as const satisfies readonly CostSearchGroup[];
export const COST_GROUP_LABELS: Record<(typeof COST_GROUPS)[number], string> = {
  cluster: "Cluster",
  table: "Table",
  engine: "Engine",
  tag: "Tag",
};

/** What stands in the address of a page of costs. */
export interface CostSearch {
  view?: CostView;
  /** 2026-11, of invoices and usage. */
  month?: string;
  spent?: CostRange;
  group?: (typeof COST_GROUPS)[number];
  /** Whose values are the groups, with the group "tag". */
  key?: string;
  after?: string[];
}

export function readCosts(search: Record<string, unknown>): CostSearch {
  const month = readText(search.month);
  return {
    view: readWord(search.view, COST_VIEWS),
    month: month !== undefined && /^20\d\d-(0[1-9]|1[0-2])$/.test(month) ? month : undefined,
    spent: readWord(search.spent, COST_RANGES),
    group: readWord(search.group, COST_GROUPS),
    key: readText(search.key),
    after: readCursors(search.after),
  };
}

const MONTHS: Record<CostRange, number> = { month: 0, last: 1, quarter: 2, year: 11 };

/** The days of a range, as the API takes them: whole months of UTC, the running one up to now. */
export function costDays(range: CostRange, now: number): { from: string; to?: string } {
  const today = new Date(now);
  const first = (monthsAgo: number) =>
    new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - monthsAgo, 1)).toISOString().slice(0, 10);
  return range === "last" ? { from: first(1), to: first(0) } : { from: first(MONTHS[range]) };
}

/** The running month of UTC and those before, newest first: 2026-11. */
export function costMonths(now: number, count = 13): string[] {
  const today = new Date(now);
  return Array.from({ length: count }, (_, back) =>
    new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - back, 1)).toISOString().slice(0, 7),
  );
}

/** November 2026. */
export function monthName(month: string): string {
  return new Date(`${month}-01T00:00:00Z`).toLocaleString("en", { month: "long", year: "numeric", timeZone: "UTC" });
}

/** The days of a month, as the API takes them. */
export function monthDays(month: string): { from: string; to: string } {
  const first = new Date(`${month}-01T00:00:00Z`);
  const next = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 1));
  return { from: `${month}-01`, to: next.toISOString().slice(0, 10) };
}

/** The points of a chart over this range. */
export function costStep(range: CostRange): "day" | "month" {
  return range === "month" || range === "last" ? "day" : "month";
}

/** What a row of a report is called. */
export function costName({ key, cluster, table }: Pick<CostItem, "key" | "cluster" | "table">, group: CostSearchGroup) {
  if (table !== null) return table.shared ? "Shared" : `${table.keyspace}.${table.name}`;
  if (cluster !== null) return cluster.deleted ? `${cluster.name} (deleted)` : cluster.name;
  if (key !== "") return key;
  return group === "tag" ? "Without this tag" : "Of no cluster";
}

/** Nine decimals in the API, so that a row can be worked out again; as many as tell something here. */
export function shortQuantity(quantity: string): string {
  const value = Number(quantity);
  return value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) < 1 ? 9 : 3 });
}

/** Seconds of a machine and requests as they are, traffic in GiB; bytes through an hour as the GiB that were held on average. */
export function usedAmount({ item, unit_seconds: used }: Pick<Usage, "item" | "unit_seconds">): string {
  if (item.startsWith("traffic_")) return inGib(used / 2 ** 30);
  if (item === "object_writes" || item === "object_reads") return `${used.toLocaleString("en")} requests`;
  if (item !== "object_storage" && item !== "block_storage") return `${used.toLocaleString("en")} s`;
  return inGib(used / 3600 / 2 ** 30);
}

function inGib(gib: number): string {
  return `${gib.toLocaleString("en", { maximumFractionDigits: Math.abs(gib) < 1 ? 6 : 3 })} GiB`;
}
