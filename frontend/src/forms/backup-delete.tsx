import Box from "@cloudscape-design/components/box";
import { useMutation } from "@tanstack/react-query";
import { type Backup, deleteBackupMutation, refresh } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { useSecondPerson } from "../hooks/use-second-person";
import { DeletionAskModal } from "./deletion-ask";

export function BackupDeleteModal({ backup, onDismiss }: { backup: Backup; onDismiss: () => void }) {
  const second = useSecondPerson(backup.id);
  const remove = useMutation({
    ...deleteBackupMutation(),
    onSuccess: () => {
      onDismiss();
      return refresh();
    },
  });
  if (second.isPending) return null;
  if (second.isMissing)
    return (
      <DeletionAskModal
        title={`Ask to delete a backup of ${backup.cluster_name}?`}
        targetType="backup"
        targetId={backup.id}
        request={second.request}
        onDismiss={onDismiss}
      />
    );
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
