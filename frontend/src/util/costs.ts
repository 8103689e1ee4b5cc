import type { CostItem, CostSearchGroup } from "../api";
import { readCursors, readText, readWord } from "./search";

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
  spent?: CostRange;
  group?: (typeof COST_GROUPS)[number];
  /** Whose values are the groups, with the group "tag". */
  key?: string;
  after?: string[];
}

export function readCosts(search: Record<string, unknown>): CostSearch {
  return {
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
