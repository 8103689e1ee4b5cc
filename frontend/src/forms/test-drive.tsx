import Box from "@cloudscape-design/components/box";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type Cluster, extendTestDriveMutation, keepTestDriveMutation, refresh, toApiError } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { Moment } from "../components/moment";
import { toast } from "../hooks/use-toasts";
import { formatMoment } from "../util/duration";

interface Props {
  cluster: Cluster;
  onDismiss: () => void;
}

export function TestDriveExtendModal({ cluster, onDismiss }: Props) {
  const [hours, setHours] = useState("24");
  const extend = useMutation({
    ...extendTestDriveMutation(),
    onSuccess: ({ name, expires_at }) => {
      onDismiss();
      toast({ type: "success", content: `${name} is deleted at ${formatMoment(expires_at ?? "")}.` });
      return refresh();
    },
  });
  const wrong = extend.isError ? toApiError(extend.error, undefined).fields.hours : undefined;
  return (
    <ConfirmModal
      title={`Extend the test drive ${cluster.name}`}
      confirm="Extend"
      isPending={extend.isPending}
      error={wrong === undefined ? extend.error : undefined}
      onConfirm={() => extend.mutate({ path: { cluster_id: cluster.id }, body: { hours: Number(hours) } })}
      onDismiss={onDismiss}
    >
      <Box>
        It is deleted at <Moment at={cluster.expires_at} /> unless it is extended or kept.
      </Box>
      <FormField label="Hours from now" constraintText="At most 168." errorText={wrong}>
        <Input type="number" inputMode="numeric" value={hours} onChange={({ detail }) => setHours(detail.value)} />
      </FormField>
    </ConfirmModal>
  );
}

export function TestDriveKeepModal({ cluster, onDismiss }: Props) {
  const keep = useMutation({
    ...keepTestDriveMutation(),
    onSuccess: ({ name }) => {
      onDismiss();
      toast({ type: "success", content: `${name} stays, and is protected against deletion.` });
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Keep ${cluster.name}?`}
      confirm="Keep"
      isPending={keep.isPending}
      error={keep.error}
      onConfirm={() => keep.mutate({ path: { cluster_id: cluster.id } })}
      onDismiss={onDismiss}
    >
      <Box>
        It becomes an ordinary cluster: it is not deleted by itself, and is protected against deletion. Its workload
        ends; the keyspace test_drive stays until somebody drops it. It goes on costing what it costs, and has no
        backups unless you make a schedule.
      </Box>
    </ConfirmModal>
  );
}
