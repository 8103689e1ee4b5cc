import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import type { Backup } from "../api";

const STATES: Record<Backup["state"], [StatusIndicatorProps.Type, string]> = {
  running: ["in-progress", "Being made"],
  complete: ["success", "Complete"],
  incomplete: ["warning", "Incomplete"],
  failed: ["error", "Failed"],
  cancelled: ["stopped", "Cancelled"],
  deleting: ["in-progress", "Deleting"],
  deleted: ["stopped", "Deleted"],
};

/** How a backup stands; one that is known to be damaged is that before all else. */
export function BackupStateBadge({ backup }: { backup: Backup }) {
  if (backup.damaged) return <StatusIndicator type="error">Damaged</StatusIndicator>;
  const [type, text] = STATES[backup.state];
  return <StatusIndicator type={type}>{text}</StatusIndicator>;
}
