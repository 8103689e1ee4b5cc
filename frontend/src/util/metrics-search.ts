import { type RangeSearch, readRange } from "./metric-range";
import { readText, readWord } from "./search";

export const DASHBOARDS = ["overview", "cql", "lwt-cdc", "cpu-io", "os", "errors"] as const;
export const SPLITS = ["cluster", "zone", "node"] as const;

/** What the pages "Tables" and "Dashboards" keep in the address. */
export interface MetricsSearch extends RangeSearch {
  dashboard?: (typeof DASHBOARDS)[number];
  by?: (typeof SPLITS)[number];
  /** Tables: sorted by this; downwards with - before it. */
  sort?: string;
  q?: string;
  keyspace?: string;
  system?: boolean;
}

export function readMetrics(search: Record<string, unknown>): MetricsSearch {
  const sort = readText(search.sort);
  return {
    ...readRange(search),
    dashboard: readWord(search.dashboard, DASHBOARDS),
    by: readWord(search.by, SPLITS),
    sort: sort && /^-?[a-z0-9_]{1,40}$/.test(sort) ? sort : undefined,
    q: readText(search.q),
    keyspace: readText(search.keyspace),
    system: search.system === true ? true : undefined,
  };
}
