import CopyToClipboard from "@cloudscape-design/components/copy-to-clipboard";

/** A value in monospace with a button that copies it. */
export function Copy({ value, label, shown }: { value: string; label: string; shown?: string }) {
  return (
    <CopyToClipboard
      variant="inline"
      textToCopy={value}
      textToDisplay={shown ?? value}
      copyButtonAriaLabel={`Copy ${label}`}
      copySuccessText="Copied"
      copyErrorText="Could not copy"
    />
  );
}
