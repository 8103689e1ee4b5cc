import ButtonDropdown from "@cloudscape-design/components/button-dropdown";

/** What can be done with a table's row, when that is more than a button or two. `reason`: why something cannot. */
export function RowMenu<Id extends string>({
  name,
  items,
  onAction,
}: {
  name: string;
  items: readonly { id: Id; text: string; reason?: string }[];
  onAction: (id: Id) => void;
}) {
  return (
    <ButtonDropdown
      variant="inline-icon"
      expandToViewport
      ariaLabel={`Actions for ${name}`}
      items={items.map(({ id, text, reason }) => ({
        id,
        text,
        disabled: reason !== undefined,
        disabledReason: reason,
      }))}
      onItemClick={({ detail }) => onAction(detail.id as Id)}
    />
  );
}
