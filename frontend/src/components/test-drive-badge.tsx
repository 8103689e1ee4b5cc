import Badge from "@cloudscape-design/components/badge";
import type { Cluster } from "../api";
import { useNow } from "../hooks/use-now";
import { formatAge, formatMoment } from "../util/duration";

/** Of a test drive, what is left of it; nothing of other clusters. */
export function TestDriveBadge({ cluster: { expires_at, state } }: { cluster: Cluster }) {
  const now = useNow(expires_at === null ? 0 : 30_000);
  if (expires_at === null || state === "deleting" || state === "deleted") return null;
  const isOver = Date.parse(expires_at) <= now;
  return (
    <Badge color={isOver || Date.parse(expires_at) - now < 3_600_000 ? "severity-medium" : "blue"}>
      <time dateTime={expires_at} title={formatMoment(expires_at)}>
        Test drive: is deleted {isOver ? "now" : formatAge(expires_at, now)}
      </time>
    </Badge>
  );
}
