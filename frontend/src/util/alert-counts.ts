import type { FiringAlerts } from "../api";

type Counts = FiringAlerts["counts"];

const SEVERITIES = ["critical", "warning", "info"] as const;

/** How many alerts fire of which people are told, and the worst of them; null: none. */
export function firingSum(counts: Counts): { total: number; worst: (typeof SEVERITIES)[number] } | null {
  const of = (severity: (typeof SEVERITIES)[number]) => counts.reduce((sum, each) => sum + each[severity], 0);
  const worst = SEVERITIES.find((severity) => of(severity) > 0);
  return worst === undefined ? null : { total: SEVERITIES.reduce((sum, each) => sum + of(each), 0), worst };
}

/** The same for people who do not see the colour: "3 alerts fire, the worst is critical". */
export function firingWords(counts: Counts): string {
  const sum = firingSum(counts);
  if (sum === null) return "No alert fires";
  return sum.total === 1 ? `1 alert fires: ${sum.worst}` : `${sum.total} alerts fire, the worst is ${sum.worst}`;
}
