import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import CopyToClipboard from "@cloudscape-design/components/copy-to-clipboard";
import Modal from "@cloudscape-design/components/modal";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { saveAs } from "../util/download";

/** Shown once. Closes only by its buttons, so that no stray key loses them. */
export function RecoveryCodesModal({ codes, onDone }: { codes: string[]; onDone: () => void }) {
  const text = `${codes.join("\n")}\n`;
  return (
    <Modal
      visible
      header="Recovery codes"
      closeAriaLabel="Close"
      onDismiss={({ detail }) => {
        if (detail.reason === "closeButton") onDone();
      }}
      footer={
        <Box float="right">
          <Button variant="primary" onClick={onDone}>
            I have kept them
          </Button>
        </Box>
      }
    >
      <SpaceBetween size="m">
        <Alert type="warning" statusIconAriaLabel="Warning">
          Keep them where you find them without your phone. They are not shown again. Each signs you in once, in the
          place of a code of the app.
        </Alert>
        <ul className="recovery-codes" aria-label="Recovery codes">
          {codes.map((code) => (
            <li key={code}>
              <code>{code}</code>
            </li>
          ))}
        </ul>
        <SpaceBetween direction="horizontal" size="xs">
          <CopyToClipboard
            textToCopy={text}
            copyButtonText="Copy"
            copyButtonAriaLabel="Copy recovery codes"
            copySuccessText="Copied"
            copyErrorText="Could not copy"
          />
          <Button
            iconName="download"
            ariaLabel="Download recovery codes"
            onClick={() => saveAs("ringmaster-recovery-codes.txt", new Blob([text], { type: "text/plain" }))}
          >
            Download
          </Button>
        </SpaceBetween>
      </SpaceBetween>
    </Modal>
  );
}
