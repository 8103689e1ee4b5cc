import Alert from "@cloudscape-design/components/alert";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import { useMutation } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import { type Cluster, deleteClusterMutation, refresh } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { useSecondPerson } from "../hooks/use-second-person";
import { DeletionAskModal } from "./deletion-ask";

export function ClusterDeleteModal({ cluster, onDismiss }: { cluster: Cluster; onDismiss: () => void }) {
  const router = useRouter();
  const second = useSecondPerson(cluster.id);
  const [typed, setTyped] = useState("");
  const remove = useMutation({
    ...deleteClusterMutation(),
    onSuccess: async ({ operation }) => {
      onDismiss();
      void refresh();
      await router.navigate({ to: "/operations/$operationId", params: { operationId: operation.id } });
    },
  });
  if (second.isPending) return null;
  if (second.isMissing)
    return (
      <DeletionAskModal
        title={`Ask to delete ${cluster.name}?`}
        targetType="cluster"
        targetId={cluster.id}
        request={second.request}
        onDismiss={onDismiss}
      />
    );
  return (
    <ConfirmModal
      title={`Delete ${cluster.name}?`}
      confirm="Delete"
      isPending={remove.isPending}
      error={remove.error}
      disabledReason={typed === cluster.name ? undefined : "Type the name of the cluster first."}
      onConfirm={() => remove.mutate({ path: { cluster_id: cluster.id } })}
      onDismiss={onDismiss}
    >
      <Alert type="warning" statusIconAriaLabel="Warning">
        Its nodes, disks and all data are deleted. This cannot be undone.
      </Alert>
      <FormField label={`To confirm, type ${cluster.name}`}>
        <Input
          value={typed}
          placeholder={cluster.name}
          autoComplete={false}
          spellcheck={false}
          onChange={({ detail }) => setTyped(detail.value)}
        />
      </FormField>
    </ConfirmModal>
  );
}
