import Box from "@cloudscape-design/components/box";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import {
  cancelOperationMutation,
  type Operation,
  pauseOperationMutation,
  refresh,
  resumeOperationMutation,
  retryOperationMutation,
  toApiError,
} from "../api";
import { toast } from "../hooks/use-toasts";
import { ActionButton } from "./action-button";
import { ConfirmModal } from "./confirm-modal";

const tell = (problem: unknown) => toast({ type: "error", content: toApiError(problem, undefined).message });

/** Cancel, retry, pause and resume. They say why where they are not possible. */
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
    onError: tell,
  });
  const pause = useMutation({ ...pauseOperationMutation(), onSuccess: () => refresh(), onError: tell });
  const resume = useMutation({ ...resumeOperationMutation(), onSuccess: () => refresh(), onError: tell });
  const path = { operation_id: operation.id };
  const may = (action: string) => operation.allowed_actions.some((each) => each.action === action && each.allowed);

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
      {/* Most operations cannot be paused: the two buttons are there when one of them can be pressed. */}
      {may("resume_operation") ? (
        <ActionButton
          action="resume_operation"
          allowed={operation.allowed_actions}
          loading={resume.isPending}
          onClick={() => resume.mutate({ path })}
        >
          Resume
        </ActionButton>
      ) : (
        may("pause_operation") && (
          <ActionButton
            action="pause_operation"
            allowed={operation.allowed_actions}
            loading={pause.isPending}
            onClick={() => pause.mutate({ path })}
          >
            Pause
          </ActionButton>
        )
      )}
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
