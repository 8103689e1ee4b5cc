import Box from "@cloudscape-design/components/box";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type BackupLocation, purgeBackupLocationMutation, purgePlanQuery, refresh } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { ErrorBox } from "../components/error-box";
import { toast } from "../hooks/use-toasts";
import { formatDuration } from "../util/duration";
import { formatBytes } from "../util/size";

/** Says what a purge would take away, and does it. */
export function LocationPurgeModal({ location, onDismiss }: { location: BackupLocation; onDismiss: () => void }) {
  const plan = useQuery(purgePlanQuery(location.id));
  const purge = useMutation({
    ...purgeBackupLocationMutation(),
    onSuccess: () => {
      toast({ type: "success", content: "The purge has begun." });
      onDismiss();
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Purge ${location.name}`}
      confirm="Purge"
      isPending={purge.isPending}
      error={purge.error}
      disabledReason={plan.data ? undefined : "What would go is being counted."}
      onConfirm={() => purge.mutate({ path: { location_id: location.id } })}
      onDismiss={onDismiss}
    >
      <Box>
        Backups that are kept no longer go, and objects that no backup needs. The newest complete backup of each cluster
        stays in any case. This is done daily by itself.
      </Box>
      {plan.isError && <ErrorBox error={plan.error} />}
      {plan.data && (
        <>
          <KeyValuePairs
            columns={3}
            items={[
              { label: "Freed", value: formatBytes(plan.data.bytes) },
              { label: "Objects", value: plan.data.objects.toLocaleString("en") },
              { label: "Backups", value: plan.data.backups.length.toLocaleString("en") },
            ]}
          />
          {plan.data.waiting_objects > 0 && (
            <Box color="text-body-secondary">
              {plan.data.waiting_objects.toLocaleString("en")} of the objects stay{" "}
              {formatDuration(plan.data.grace_seconds)} longer, and go with a later purge.
            </Box>
          )}
        </>
      )}
    </ConfirmModal>
  );
}
