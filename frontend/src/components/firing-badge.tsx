import Badge from "@cloudscape-design/components/badge";
import type { FiringAlerts } from "../api";
import { firingSum, firingWords } from "../util/alert-counts";

const COLOUR = { critical: "severity-critical", warning: "severity-medium", info: "blue" } as const;

/** How many alerts fire, in the colour of the worst; nothing where none does. */
export function FiringBadge({ counts }: { counts: FiringAlerts["counts"] }) {
  const sum = firingSum(counts);
  if (sum === null) return null;
  return (
    <span title={firingWords(counts)}>
      <Badge color={COLOUR[sum.worst]}>{sum.total}</Badge>
    </span>
  );
}
