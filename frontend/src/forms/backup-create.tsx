import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  backupEstimateQuery,
  type Cluster,
  type ClusterBackups,
  createBackupMutation,
  refresh,
  toApiError,
} from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { toast } from "../hooks/use-toasts";
import { formatDuration } from "../util/duration";
import { formatBytes } from "../util/size";
import { LocationField } from "./location-field";
import { TableChoiceField } from "./table-choice-field";

/** Backs up now, after it has said what that comes to. */
export function BackupCreateModal({
  cluster,
  overview,
  onDismiss,
}: {
  cluster: Cluster;
  overview: ClusterBackups;
  onDismiss: () => void;
}) {
  const [selection, setSelection] = useState<string[]>([]);
  const [days, setDays] = useState("30");
  const [location, setLocation] = useState<string | null>(null);
  const estimate = useQuery(backupEstimateQuery(cluster.id, location));
  const create = useMutation({
    ...createBackupMutation(),
    onSuccess: () => {
      toast({ type: "success", content: "The backup is being made." });
      onDismiss();
      return refresh();
    },
  });
  const error = create.isError ? toApiError(create.error, undefined) : undefined;
  const keep = days.trim() === "" ? null : Number(days);
  const problem = estimate.data?.problems[0];
  const wrong = keep !== null && !(Number.isInteger(keep) && keep > 0) ? "Keep it for at least a day." : undefined;
  return (
    <ConfirmModal
      title={`Back ${cluster.name} up`}
      confirm="Back up"
      isPending={create.isPending}
      error={create.error}
      disabledReason={problem ?? wrong}
      onConfirm={() =>
        create.mutate({
          path: { cluster_id: cluster.id },
          body: { selection: selection.map(choice), keep_days: keep, location_id: location },
        })
      }
      onDismiss={onDismiss}
    >
      <TableChoiceField tables={overview.tables} value={selection} onChange={setSelection} />
      <LocationField value={location} onChange={setLocation} />
      <FormField
        label="Keep it for (days)"
        description="Empty: until it is deleted by hand."
        errorText={error?.fields.keep_days ?? wrong}
      >
        <Input value={days} inputMode="numeric" onChange={({ detail }) => setDays(detail.value)} />
      </FormField>
      {estimate.data && (
        <KeyValuePairs
          columns={3}
          items={[
            { label: "Data", value: estimate.data.bytes === null ? "Not known yet" : formatBytes(estimate.data.bytes) },
            {
              label: "To upload, about",
              value: estimate.data.new_bytes === null ? "Not known yet" : formatBytes(estimate.data.new_bytes),
            },
            {
              label: "Takes about",
              value: estimate.data.seconds === null ? "Not known yet" : formatDuration(estimate.data.seconds),
            },
          ]}
        />
      )}
      {estimate.data?.warnings.map((warning) => (
        <Box key={warning} color="text-body-secondary">
          {warning}
        </Box>
      ))}
      {problem && (
        <Alert type="error" statusIconAriaLabel="Error">
          {problem}
        </Alert>
      )}
    </ConfirmModal>
  );
}

/** "shop.orders" as the API names it. */
export function choice(name: string): { keyspace: string; table: string | null } {
  const [keyspace = "", table] = name.split(".");
  return { keyspace, table: table ?? null };
}
