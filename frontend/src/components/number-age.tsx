import Alert from "@cloudscape-design/components/alert";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { useNow } from "../hooks/use-now";
import { formatNumberAge } from "../util/metric-units";

/** Nodes are asked every 15 s: older than this, one or more rounds brought nothing. */
const LATE_SECONDS = 60;

/** How old the newest number was when the answer came, and the time since. */
export function NumberAge({ age, answeredAt }: { age: number | null; answeredAt: number }) {
  const now = useNow(1000);
  if (age === null) return <StatusIndicator type="warning">No numbers</StatusIndicator>;
  const seconds = age + Math.max(0, now - answeredAt) / 1000;
  return (
    <StatusIndicator type={seconds > LATE_SECONDS ? "warning" : "success"} wrapText={false}>
      <span className="number-age">{formatNumberAge(seconds)}</span>
    </StatusIndicator>
  );
}

/** Why there are no numbers, if the API says so. */
export function NumbersNote({ note }: { note: string | null }) {
  if (note === null) return null;
  return (
    <Alert type="info" statusIconAriaLabel="Info">
      {note}
    </Alert>
  );
}
