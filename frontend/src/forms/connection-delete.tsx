import Box from "@cloudscape-design/components/box";
import { useMutation } from "@tanstack/react-query";
import { type Cluster, deleteNetworkConnectionMutation, type NetworkConnection, refresh } from "../api";
import { ConfirmModal } from "../components/confirm-modal";

export function ConnectionDeleteModal({
  cluster,
  connection,
  onDismiss,
}: {
  cluster: Cluster;
  connection: NetworkConnection;
  onDismiss: () => void;
}) {
  const remove = useMutation({
    ...deleteNetworkConnectionMutation(),
    onSuccess: () => {
      onDismiss();
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Delete the connection ${connection.name}?`}
      confirm="Delete"
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ path: { cluster_id: cluster.id, connection_id: connection.id } })}
      onDismiss={onDismiss}
    >
      <Box>
        {connection.kind === "peering"
          ? "Who comes through it does not reach the database any more. What was made at the other end stays there."
          : "The service is not reached from the nodes any more."}
      </Box>
    </ConfirmModal>
  );
}
