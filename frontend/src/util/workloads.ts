import type { TestDrive } from "../api";

/** What each does is the agent's business (docs/test-drives.md); these are its words for people. */
const DESCRIPTIONS: Record<TestDrive["workload"], [string, string]> = {
  "key-value": ["Values by key", "80 % reads, 20 % writes of single values"],
  timeseries: ["Time series", "80 % new measurements of sensors, 20 % reads of the newest; kept for a day"],
  orders: ["Orders", "70 % reads of orders and lists of them, 30 % changes and new ones"],
};

export const WORKLOADS = Object.entries(DESCRIPTIONS).map(([value, [label, description]]) => ({
  value,
  label,
  description,
}));

export function workloadName(workload: TestDrive["workload"]): string {
  return DESCRIPTIONS[workload][0];
}
