import Box from "@cloudscape-design/components/box";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { cancelOperationMutation, type Operation, refresh, retryOperationMutation, toApiError } from "../api";
import { toast } from "../hooks/use-toasts";
import { ActionButton } from "./action-button";
import { ConfirmModal } from "./confirm-modal";

/** Cancel and retry. Both say why where they are not possible. */
export function OperationActions({ operation }: { operation: Operation }) {
  const [isAsking, setIsAsking] = useState(false);
  const cancel = useMutation({
    ...cancelOperationMutation(),
    onSuccess: () => {
      setIsAsking(false);
      return refresh();
    },
  });
  const retry = useMutation({
    ...retryOperationMutation(),
    onSuccess: () => refresh(),
    onError: (problem) => toast({ type: "error", content: toApiError(problem, undefined).message }),
  });
  const path = { operation_id: operation.id };

  return (
    <SpaceBetween direction="horizontal" size="xs">
      <ActionButton
        action="retry_operation"
        allowed={operation.allowed_actions}
        iconName="refresh"
        loading={retry.isPending}
        onClick={() => retry.mutate({ path })}
      >
        Retry now
      </ActionButton>
      <ActionButton action="cancel_operation" allowed={operation.allowed_actions} onClick={() => setIsAsking(true)}>
        Cancel operation
      </ActionButton>
      {isAsking && (
        <ConfirmModal
          title={`Cancel “${operation.title}”?`}
          confirm="Cancel operation"
          isPending={cancel.isPending}
          error={cancel.error}
          onConfirm={() => cancel.mutate({ path })}
          onDismiss={() => setIsAsking(false)}
        >
          <Box>What was done so far is undone, step by step.</Box>
        </ConfirmModal>
      )}
    </SpaceBetween>
  );
}
