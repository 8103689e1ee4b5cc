import ButtonDropdown from "@cloudscape-design/components/button-dropdown";
import type { AllowedAction } from "../api";

export interface RowAction {
  id: string;
  text: string;
  /** Why it is refused, where that is not in `allowed`; null: it is not. */
  refusal?: string | null;
}

/** What can be done with a table's row, when that is more than a button or two. */
export function RowMenu<Id extends string>({
  name,
  actions,
  allowed,
  onAction,
}: {
  name: string;
  actions: readonly (RowAction & { id: Id })[];
  allowed: readonly AllowedAction[];
  onAction: (id: Id) => void;
}) {
  return (
    <ButtonDropdown
      variant="inline-icon"
      expandToViewport
      ariaLabel={`Actions for ${name}`}
      items={actions.map(({ id, text, refusal }) => {
        const reason = refusal === undefined ? refusalOf(id, allowed) : refusal;
        return { id, text, disabled: reason !== null, disabledReason: reason ?? undefined };
      })}
      onItemClick={({ detail }) => onAction(detail.id as Id)}
    />
  );
}

function refusalOf(id: string, allowed: readonly AllowedAction[]): string | null {
  const rule = allowed.find(({ action }) => action === id);
  return rule?.allowed ? null : (rule?.reason ?? "This is not possible now.");
}
