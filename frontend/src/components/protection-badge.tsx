import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import type { RepairTable } from "../api";
import { Moment } from "./moment";

const PROTECTION: Record<RepairTable["protection"], [StatusIndicatorProps.Type, string]> = {
  good: ["success", "Protected"],
  amber: ["warning", "Half the time is used up"],
  red: ["error", "Nearly over"],
  over: ["error", "Over"],
  unknown: ["pending", "Not repaired yet"],
  "not-needed": ["stopped", "Not needed"],
};

/** How the state of a table's protection looks, and its words. */
export function protectionLook(protection: RepairTable["protection"]): [StatusIndicatorProps.Type, string] {
  return PROTECTION[protection];
}

/** Until when what was deleted from a table surely stays deleted. */
export function ProtectionBadge({
  protection,
  until,
  now,
}: {
  protection: RepairTable["protection"];
  until: string | null;
  now: number;
}) {
  const [type, words] = PROTECTION[protection];
  return (
    <StatusIndicator type={type}>
      {until && protection !== "not-needed" ? <Moment at={until} now={now} /> : words}
    </StatusIndicator>
  );
}
