import Box from "@cloudscape-design/components/box";
import { useMutation } from "@tanstack/react-query";
import { type Cluster, type DatabaseRole, deleteRoleMutation, refresh } from "../api";
import { ConfirmModal } from "../components/confirm-modal";

export function RoleDeleteModal({
  cluster,
  role,
  onDismiss,
}: {
  cluster: Cluster;
  role: DatabaseRole;
  onDismiss: () => void;
}) {
  const remove = useMutation({
    ...deleteRoleMutation(),
    onSuccess: () => {
      onDismiss();
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Delete the role ${role.name}?`}
      confirm="Delete"
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ path: { cluster_id: cluster.id, role: role.name } })}
      onDismiss={onDismiss}
    >
      <Box>Applications that sign in with it are refused from then on. What it was granted goes with it.</Box>
    </ConfirmModal>
  );
}
