import Box from "@cloudscape-design/components/box";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import type { AccountCheck } from "../api";
import { count } from "../util/size";

const LOOK: Record<AccountCheck["state"], [StatusIndicatorProps.Type, string]> = {
  unchecked: ["pending", "Not checked"],
  checking: ["in-progress", "Checking"],
  ready: ["success", "Ready"],
  incomplete: ["warning", "Incomplete"],
  refused: ["error", "No access"],
};

/** What the last check of a cloud account found, in a word or two. */
export function AccountCheckBadge({ check }: { check: AccountCheck }) {
  const [type, text] = LOOK[check.state];
  return (
    <>
      <StatusIndicator type={type} wrapText={false}>
        {text}
      </StatusIndicator>
      {check.state === "incomplete" && (
        <Box fontSize="body-s" color="text-body-secondary">
          {count(check.missing.length, "permission")} missing
        </Box>
      )}
    </>
  );
}
