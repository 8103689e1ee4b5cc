import Button from "@cloudscape-design/components/button";
import type { AllowedAction } from "../api";
import { reasonAgainst } from "../util/allowed";

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
  const reason = reasonAgainst(action, allowed);
  return (
    <Button
      variant="inline-link"
      ariaLabel={ariaLabel}
      disabled={reason !== undefined}
      disabledReason={reason}
      onClick={onClick}
    >
      {children}
    </Button>
  );
}
