import type { MetricsSearch } from "./metrics-search";

type Place = { label: string } & (
  | { tab: "repairs" | "backups" | "activity" }
  | { dashboard: NonNullable<MetricsSearch["dashboard"]>; by?: "node" }
);

const NODES_UP: Place = { label: "Charts", dashboard: "overview", by: "node" };
const REQUESTS: Place = { label: "Charts", dashboard: "overview" };
const DISK: Place = { label: "Charts", dashboard: "overview", by: "node" };
const ERRORS: Place = { label: "Charts", dashboard: "errors", by: "node" };
const CPU_IO: Place = { label: "Charts", dashboard: "cpu-io", by: "node" };

// Rules about a table are not here: the table's own page has their charts.
const PLACES: Record<string, Place> = {
  "node-down": NODES_UP,
  "latency-mean": REQUESTS,
  "latency-p95": REQUESTS,
  "disk-70": DISK,
  "disk-80": DISK,
  "disk-90": DISK,
  "disk-full-soon": { label: "Charts", dashboard: "os", by: "node" },
  hints: ERRORS,
  "dropped-messages": ERRORS,
  "repair-overdue": { label: "Repairs", tab: "repairs" },
  "backup-overdue": { label: "Backups", tab: "backups" },
  "certificate-expiry": { label: "Activity", tab: "activity" },
  "io-unequal": CPU_IO,
  "irq-cpu": CPU_IO,
};

/** Where a cluster shows what a rule looks at. */
export function whereToLook(rule: string): Place | undefined {
  return PLACES[rule];
}

const AROUND_SECONDS = 900;

/** The piece of a chart that shows an alert from before its beginning to after its end. */
export function chartPiece(startsAt: string, endsAt: string | null, now: number): { from: number; to: number } {
  const end = endsAt === null ? now : Math.min(Date.parse(endsAt) + AROUND_SECONDS * 1000, now);
  return {
    from: Math.floor(Date.parse(startsAt) / 1000) - AROUND_SECONDS,
    to: Math.ceil(end / 1000),
  };
}

/** What a silence is about, in words: `rule disk-80, node orders-a-1`. */
export function matcherWords(matchers: Record<string, string>, nodeNames: ReadonlyMap<string, string>): string {
  const { keyspace, table, node, ...rest } = matchers;
  const words = Object.entries(rest).map(([name, value]) => `${name} ${value}`);
  if (node !== undefined) words.push(`node ${nodeNames.get(node) ?? node}`);
  if (table !== undefined) words.push(`table ${keyspace}.${table}`);
  else if (keyspace !== undefined) words.push(`keyspace ${keyspace}`);
  return words.length === 0 ? "all alerts of the cluster" : words.join(", ");
}
