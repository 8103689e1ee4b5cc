import Checkbox from "@cloudscape-design/components/checkbox";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type AlertReceiver, refresh, toApiError, updateAlertReceiverMutation } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { NO_TOPIC } from "../util/alert-receivers";
import { ReceiverScope } from "./receiver-fields";

/** Changes what a receiver is told, its name, and whether it is on. For another address one makes another. */
export function ReceiverEditModal({ receiver, onDismiss }: { receiver: AlertReceiver; onDismiss: () => void }) {
  const [name, setName] = useState(receiver.name);
  const [topics, setTopics] = useState(receiver.topics);
  const [severity, setSeverity] = useState(receiver.severity);
  const [clusterIds, setClusterIds] = useState(receiver.cluster_ids);
  const [enabled, setEnabled] = useState(receiver.enabled);
  const update = useMutation({
    ...updateAlertReceiverMutation(),
    onSuccess: () => {
      onDismiss();
      return refresh();
    },
  });
  const errors = update.isError ? toApiError(update.error, undefined).fields : {};
  return (
    <ConfirmModal
      title={`Change ${receiver.name}`}
      confirm="Save"
      isPending={update.isPending}
      error={update.error}
      disabledReason={name.trim() === "" ? "Enter a name." : topics.length === 0 ? NO_TOPIC : undefined}
      onConfirm={() =>
        update.mutate({
          path: { receiver_id: receiver.id },
          body: { name: name.trim(), topics, severity, cluster_ids: clusterIds, enabled },
        })
      }
      onDismiss={onDismiss}
    >
      <FormField label="Name" errorText={errors.name}>
        <Input value={name} autoComplete={false} onChange={({ detail }) => setName(detail.value)} />
      </FormField>
      <ReceiverScope
        kind={receiver.kind}
        topics={topics}
        severity={severity}
        clusterIds={clusterIds}
        errors={errors}
        onTopics={setTopics}
        onSeverity={setSeverity}
        onClusters={setClusterIds}
      />
      <Checkbox
        checked={enabled}
        description="While it is off nothing new is sent there; a test still is."
        onChange={({ detail }) => setEnabled(detail.checked)}
      >
        On
      </Checkbox>
    </ConfirmModal>
  );
}
