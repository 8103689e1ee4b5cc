import Alert from "@cloudscape-design/components/alert";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { confirmDeletionRequestMutation, type DeletionRequest, refresh } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { toast } from "../hooks/use-toasts";

/** For the second person, who types the name as whoever deletes does. */
export function DeletionConfirmModal({ request, onDismiss }: { request: DeletionRequest; onDismiss: () => void }) {
  const [typed, setTyped] = useState("");
  const confirm = useMutation({
    ...confirmDeletionRequestMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: "Confirmed. It can be done now." });
      return refresh();
    },
  });
  const name = request.target_name;
  return (
    <ConfirmModal
      title="Confirm as the second person?"
      confirm="Confirm"
      isPending={confirm.isPending}
      error={confirm.error}
      disabledReason={typed === name ? undefined : "Type the name first."}
      onConfirm={() => confirm.mutate({ path: { deletion_request_id: request.id } })}
      onDismiss={onDismiss}
    >
      <Alert type="warning" statusIconAriaLabel="Warning">
        {WHAT[request.target_type](name)} {request.requested_by} asked for it.
      </Alert>
      <FormField label={`To confirm, type ${name}`}>
        <Input
          value={typed}
          placeholder={name}
          autoComplete={false}
          spellcheck={false}
          onChange={({ detail }) => setTyped(detail.value)}
        />
      </FormField>
    </ConfirmModal>
  );
}

const WHAT: Record<DeletionRequest["target_type"], (name: string) => string> = {
  cluster: (name) => `The cluster ${name} can be deleted then, with all its data, for good.`,
  backup: (name) => `A backup of ${name} can be deleted then, for good.`,
  access_settings: (name) => `Deletes in ${name} can be made to take one person again.`,
};
