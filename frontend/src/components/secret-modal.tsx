import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Modal from "@cloudscape-design/components/modal";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { Copy } from "../ui/copy";

/** Shows something the API shows once. Closes only by its button, so that no stray key loses it. */
export function SecretModal({
  title,
  label,
  secret,
  hint,
  onDone,
}: {
  title: string;
  label: string;
  secret: string;
  hint: string;
  onDone: () => void;
}) {
  return (
    <Modal
      visible
      header={title}
      closeAriaLabel="Close"
      onDismiss={({ detail }) => {
        if (detail.reason === "closeButton") onDone();
      }}
      footer={
        <Box float="right">
          <Button variant="primary" onClick={onDone}>
            Done
          </Button>
        </Box>
      }
    >
      <SpaceBetween size="m">
        <Alert type="warning" statusIconAriaLabel="Warning">
          {hint}
        </Alert>
        <Box variant="awsui-key-label">{label}</Box>
        <div className="facts-code">
          <Copy value={secret} label={label} />
        </div>
      </SpaceBetween>
    </Modal>
  );
}
