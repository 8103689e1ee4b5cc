import Alert from "@cloudscape-design/components/alert";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type DeletionRequest, refresh, toApiError, withdrawDeletionRequestMutation } from "../api";
import { DeletionConfirmModal } from "../forms/deletion-confirm";
import { useSecondPerson } from "../hooks/use-second-person";
import { toast } from "../hooks/use-toasts";
import { Moment } from "./moment";
import { RowButton } from "./row-button";

export const DELETION_TARGET: Record<DeletionRequest["target_type"], (name: string) => string> = {
  cluster: (name) => `Delete the cluster ${name}`,
  backup: (name) => `Delete a backup of ${name}`,
  access_settings: () => "Let one person delete again",
};

/** Confirming and withdrawing. */
export function DeletionButtons({ request }: { request: DeletionRequest }) {
  const [isConfirming, setIsConfirming] = useState(false);
  const withdraw = useMutation({
    ...withdrawDeletionRequestMutation(),
    onSuccess: () => {
      toast({ type: "success", content: "Withdrawn." });
      return refresh();
    },
    onError: (problem) => toast({ type: "error", content: toApiError(problem, undefined).message }),
  });
  const what = DELETION_TARGET[request.target_type](request.target_name);
  return (
    <>
      <SpaceBetween direction="horizontal" size="m">
        <RowButton
          action="confirm_deletion_request"
          allowed={request.allowed_actions}
          ariaLabel={`Confirm: ${what}`}
          onClick={() => setIsConfirming(true)}
        >
          Confirm
        </RowButton>
        <RowButton
          action="withdraw_deletion_request"
          allowed={request.allowed_actions}
          ariaLabel={`Withdraw: ${what}`}
          onClick={() => withdraw.mutate({ path: { deletion_request_id: request.id } })}
        >
          Withdraw
        </RowButton>
      </SpaceBetween>
      {isConfirming && <DeletionConfirmModal request={request} onDismiss={() => setIsConfirming(false)} />}
    </>
  );
}

/** On the page of what somebody wants to delete; nothing where nobody does. */
export function DeletionNotice({ targetId }: { targetId: string }) {
  const { request } = useSecondPerson(targetId);
  if (request === undefined) return null;
  return (
    <Alert type="warning" statusIconAriaLabel="Warning" header={HEADER[request.state]}>
      <SpaceBetween size="xs">
        <div>
          {request.requested_by} asked for it.{" "}
          {request.confirmed_by === null
            ? "Somebody else has to confirm it until "
            : `${request.confirmed_by} confirmed it. It can be deleted until `}
          <Moment at={request.expires_at} />.
        </div>
        <DeletionButtons request={request} />
      </SpaceBetween>
    </Alert>
  );
}

const HEADER: Partial<Record<DeletionRequest["state"], string>> = {
  pending: "Its deletion waits for a second person",
  confirmed: "Two people want it deleted",
};
