import Checkbox from "@cloudscape-design/components/checkbox";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import { useState } from "react";
import { type AlertReceiver, editableReceiver, refresh, toApiError } from "../api";
import { ChangedMeanwhile } from "../components/changed-meanwhile";
import { ConfirmModal } from "../components/confirm-modal";
import { useEdit } from "../hooks/use-edit";
import { NO_TOPIC, topicsLabel } from "../util/alert-receivers";
import { ReceiverScope } from "./receiver-fields";

/** Changes what a receiver is told, its name, and whether it is on. For another address one makes another. */
export function ReceiverEditModal({ receiver, onDismiss }: { receiver: AlertReceiver; onDismiss: () => void }) {
  const [name, setName] = useState(receiver.name);
  const [topics, setTopics] = useState(receiver.topics);
  const [severity, setSeverity] = useState(receiver.severity);
  const [clusterIds, setClusterIds] = useState(receiver.cluster_ids);
  const [enabled, setEnabled] = useState(receiver.enabled);
  const edit = useEdit({
    editable: editableReceiver(receiver.id),
    opened: receiver,
    edited: editedOf,
    onSuccess: () => {
      onDismiss();
      return refresh();
    },
  });
  const errors = edit.error ? toApiError(edit.error, undefined).fields : {};
  const body = () => ({ name: name.trim(), topics, severity, cluster_ids: clusterIds, enabled });
  const load = (now: AlertReceiver) => {
    setName(now.name);
    setTopics(now.topics);
    setSeverity(now.severity);
    setClusterIds(now.cluster_ids);
    setEnabled(now.enabled);
    edit.load();
  };
  return (
    <ConfirmModal
      title={`Change ${receiver.name}`}
      confirm="Save"
      isPending={edit.isPending}
      error={edit.error}
      disabledReason={name.trim() === "" ? "Enter a name." : topics.length === 0 ? NO_TOPIC : undefined}
      onConfirm={() => edit.save(body())}
      onDismiss={onDismiss}
    >
      <ChangedMeanwhile edit={edit} words={wordsOf} onLoad={load} onSaveOver={() => edit.saveOver(body())} />
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

const editedOf = ({ name, topics, severity, cluster_ids, enabled }: AlertReceiver) => ({
  name,
  topics,
  severity,
  cluster_ids,
  enabled,
});

const wordsOf = (receiver: AlertReceiver) => ({
  Name: receiver.name,
  "Told of": topicsLabel(receiver.topics),
  "From which severity on": receiver.severity,
  Clusters: receiver.cluster_ids.join(", ") || "all",
  On: receiver.enabled ? "yes" : "no",
});
