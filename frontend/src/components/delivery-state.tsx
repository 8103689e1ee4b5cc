import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import type { AlertDelivery } from "../api";

const STATE: Record<AlertDelivery["state"], [StatusIndicatorProps.Type, string]> = {
  pending: ["in-progress", "On its way"],
  sent: ["success", "Delivered"],
  failed: ["error", "Not delivered"],
};

/** How a message went; one that was tried in vain and is tried again is no success yet. */
export function DeliveryState({ delivery: { state, attempts, result } }: { delivery: AlertDelivery }) {
  const isRetried = state === "pending" && attempts > 0 && result !== "";
  const [type, word] = isRetried ? (["warning", "Tried again"] as const) : STATE[state];
  return (
    <StatusIndicator type={type} wrapText={false}>
      {word}
    </StatusIndicator>
  );
}
