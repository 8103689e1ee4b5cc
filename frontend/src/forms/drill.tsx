import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Checkbox from "@cloudscape-design/components/checkbox";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import RadioGroup from "@cloudscape-design/components/radio-group";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  type Cluster,
  type DrillOrder,
  type DrillSchedule,
  drillPlanQuery,
  refresh,
  setDrillScheduleMutation,
  startDrillMutation,
  toApiError,
} from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { ErrorBox } from "../components/error-box";
import { toast } from "../hooks/use-toasts";
import { formatDuration } from "../util/duration";
import { count, formatBytes } from "../util/size";

type Shape = NonNullable<DrillOrder["shape"]>;

const SHAPES = [
  { value: "zones", label: "One node in each zone", description: "As the cluster is spread." },
  { value: "one", label: "One node", description: "Least room and cost; it holds all the data." },
];

/** Restores the newest complete backup for a trial, after it has said what that comes to. */
export function DrillModal({ cluster, onDismiss }: { cluster: Cluster; onDismiss: () => void }) {
  const [shape, setShape] = useState<Shape>("zones");
  const [compareLive, setCompareLive] = useState(true);
  const order: DrillOrder = { shape, compare_live: compareLive };
  const plan = useQuery(drillPlanQuery(cluster.id, order));
  const start = useMutation({
    ...startDrillMutation(),
    onSuccess: () => {
      toast({ type: "success", content: "The drill has begun." });
      onDismiss();
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Restore drill of ${cluster.name}`}
      size="large"
      confirm="Drill"
      isPending={start.isPending}
      error={start.error}
      disabledReason={plan.data ? plan.data.problems[0] : "The plan is being made."}
      onConfirm={() => start.mutate({ path: { cluster_id: cluster.id }, body: order })}
      onDismiss={onDismiss}
    >
      <Fields shape={shape} compareLive={compareLive} onShape={setShape} onCompareLive={setCompareLive} />
      {plan.isError && <ErrorBox error={plan.error} />}
      {plan.data && (
        <SpaceBetween size="m">
          {plan.data.problems.map((problem) => (
            <Alert key={problem} type="error" statusIconAriaLabel="Error">
              {problem}
            </Alert>
          ))}
          <KeyValuePairs
            columns={3}
            items={[
              { label: "To fetch, each node", value: formatBytes(plan.data.bytes) },
              {
                label: "Cluster",
                value: plan.data.machine_type
                  ? `${count(plan.data.zones.length, "node")}, ${plan.data.machine_type}`
                  : "–",
              },
              {
                label: "Tables answer after about",
                value:
                  plan.data.expected_seconds === null ? "Not known yet" : formatDuration(plan.data.expected_seconds),
              },
            ]}
          />
          <Box>
            <Box variant="awsui-key-label">What is done</Box>
            <ol className="plan-list" aria-label="What is done">
              {plan.data.steps.map((step) => (
                <li key={step}>{step}</li>
              ))}
            </ol>
            <Box variant="awsui-key-label">What is compared</Box>
            <ul className="plan-list" aria-label="What is compared">
              {plan.data.compared.map((each) => (
                <li key={each}>{each}</li>
              ))}
            </ul>
          </Box>
        </SpaceBetween>
      )}
    </ConfirmModal>
  );
}

/** When drills are made by themselves. */
export function DrillScheduleModal({
  cluster,
  schedule,
  onDismiss,
}: {
  cluster: Cluster;
  schedule: DrillSchedule | null;
  onDismiss: () => void;
}) {
  const [cron, setCron] = useState(schedule?.cron ?? "0 4 * * 0");
  const [zone, setZone] = useState(schedule?.time_zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone);
  const [shape, setShape] = useState<Shape>(schedule?.shape ?? "zones");
  const [compareLive, setCompareLive] = useState(schedule?.compare_live ?? true);
  const [enabled, setEnabled] = useState(schedule?.enabled ?? true);
  const set = useMutation({
    ...setDrillScheduleMutation(),
    onSuccess: () => {
      onDismiss();
      return refresh();
    },
  });
  const error = set.isError ? toApiError(set.error, undefined) : undefined;
  return (
    <ConfirmModal
      title="Drill on schedule"
      confirm="Save"
      isPending={set.isPending}
      error={set.error}
      onConfirm={() =>
        set.mutate({
          path: { cluster_id: cluster.id },
          body: {
            cron: cron.trim(),
            time_zone: zone.trim(),
            shape,
            compare_live: compareLive,
            enabled,
            selection: schedule?.selection ?? [],
          },
        })
      }
      onDismiss={onDismiss}
    >
      <Checkbox checked={enabled} onChange={({ detail }) => setEnabled(detail.checked)}>
        Restore the newest complete backup for a trial
      </Checkbox>
      <FormField
        label="Times, as cron writes them"
        description="Minute, hour, day, month, weekday."
        errorText={error?.fields.cron}
      >
        <Input value={cron} spellcheck={false} onChange={({ detail }) => setCron(detail.value)} />
      </FormField>
      <FormField label="Time zone" errorText={error?.fields.time_zone}>
        <Input value={zone} spellcheck={false} onChange={({ detail }) => setZone(detail.value)} />
      </FormField>
      <Fields shape={shape} compareLive={compareLive} onShape={setShape} onCompareLive={setCompareLive} />
    </ConfirmModal>
  );
}

function Fields({
  shape,
  compareLive,
  onShape,
  onCompareLive,
}: {
  shape: Shape;
  compareLive: boolean;
  onShape: (shape: Shape) => void;
  onCompareLive: (compare: boolean) => void;
}) {
  return (
    <SpaceBetween size="s">
      <FormField label="Cluster to restore into" description="It is removed afterwards.">
        <RadioGroup value={shape} items={SHAPES} onChange={({ detail }) => onShape(detail.value as Shape)} />
      </FormField>
      <Checkbox checked={compareLive} onChange={({ detail }) => onCompareLive(detail.checked)}>
        Read the live tables too, and compare
      </Checkbox>
    </SpaceBetween>
  );
}
