import Box from "@cloudscape-design/components/box";
import { useMutation } from "@tanstack/react-query";
import { createDeletionRequestMutation, type DeletionRequest, refresh } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { toast } from "../hooks/use-toasts";

interface Props {
  title: string;
  targetType: DeletionRequest["target_type"];
  targetId: string;
  /** What waits already. */
  request: DeletionRequest | undefined;
  onDismiss: () => void;
}

/** In the place of a delete, where it takes two people. */
export function DeletionAskModal({ title, targetType, targetId, request, onDismiss }: Props) {
  const ask = useMutation({
    ...createDeletionRequestMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: "Asked. Somebody else has to confirm it now." });
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={title}
      confirm="Ask"
      isPending={ask.isPending}
      error={ask.error}
      disabledReason={request && `${request.requested_by} asked for it. Somebody else has to confirm it.`}
      onConfirm={() => ask.mutate({ body: { target_type: targetType, target_id: targetId } })}
      onDismiss={onDismiss}
    >
      <Box>
        {request
          ? `${request.requested_by} asked for it. As soon as somebody else has confirmed it, it can be done here.`
          : "In your organisation this takes two people: you ask for it, and somebody else who may do it confirms it within 24 hours. Then it can be done here."}
      </Box>
    </ConfirmModal>
  );
}
