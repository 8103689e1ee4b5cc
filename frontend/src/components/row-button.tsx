import Button from "@cloudscape-design/components/button";
import type { AllowedAction } from "../api";

/** A small button at the end of a table's row, named after the row. */
export function RowButton({
  action,
  allowed,
  children,
  ariaLabel,
  onClick,
}: {
  action: string;
  allowed: readonly AllowedAction[];
  children: string;
  ariaLabel: string;
  onClick: () => void;
}) {
  const rule = allowed.find((each) => each.action === action);
  const isAllowed = rule?.allowed ?? false;
  return (
    <Button
      variant="inline-link"
      ariaLabel={ariaLabel}
      disabled={!isAllowed}
      disabledReason={isAllowed ? undefined : (rule?.reason ?? "This is not possible now.")}
      onClick={onClick}
    >
      {children}
    </Button>
  );
}
