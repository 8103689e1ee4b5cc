import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Modal, { type ModalProps } from "@cloudscape-design/components/modal";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { ReactNode } from "react";
import { ErrorBox } from "./error-box";

interface Props {
  title: string;
  children: ReactNode;
  confirm: string;
  isPending: boolean;
  error: unknown;
  /** Why the confirming button is disabled; nothing: it is not. */
  disabledReason?: string;
  size?: ModalProps["size"];
  onConfirm: () => void;
  onDismiss: () => void;
}

/** Asks before something is done. Mount it to open it; Cloudscape moves the focus in and back. */
export function ConfirmModal({
  title,
  children,
  confirm,
  isPending,
  error,
  disabledReason,
  size,
  onConfirm,
  onDismiss,
}: Props) {
  return (
    <Modal
      visible
      header={title}
      size={size}
      onDismiss={onDismiss}
      closeAriaLabel="Close"
      footer={
        <Box float="right">
          <SpaceBetween direction="horizontal" size="xs">
            <Button variant="link" onClick={onDismiss}>
              Cancel
            </Button>
            <Button
              variant="primary"
              loading={isPending}
              loadingText={`${confirm} …`}
              disabled={disabledReason !== undefined}
              disabledReason={disabledReason}
              onClick={onConfirm}
            >
              {confirm}
            </Button>
          </SpaceBetween>
        </Box>
      }
    >
      <SpaceBetween size="m">
        {error !== null && error !== undefined && <ErrorBox error={error} />}
        {children}
      </SpaceBetween>
    </Modal>
  );
}
