import Box from "@cloudscape-design/components/box";
import { useMutation } from "@tanstack/react-query";
import { type Backup, deleteBackupMutation, refresh } from "../api";
import { ConfirmModal } from "../components/confirm-modal";

export function BackupDeleteModal({ backup, onDismiss }: { backup: Backup; onDismiss: () => void }) {
  const remove = useMutation({
    ...deleteBackupMutation(),
    onSuccess: () => {
      onDismiss();
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Delete a backup of ${backup.cluster_name}?`}
      confirm="Delete"
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ path: { backup_id: backup.id } })}
      onDismiss={onDismiss}
    >
      <Box>
        It cannot be restored any more. What other backups need stays; what only this one needs goes a day later.
      </Box>
    </ConfirmModal>
  );
}
