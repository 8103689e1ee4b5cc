import Box from "@cloudscape-design/components/box";
import Checkbox from "@cloudscape-design/components/checkbox";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  type Advice,
  applyAdviceMutation,
  type Cluster,
  dismissAdviceMutation,
  refresh,
  type TableChange,
  type TablePlan,
  tablePlanQuery,
  undoTableChangeMutation,
} from "../api";
import { Code } from "../ui/code";
import { formatDuration } from "../util/duration";
import { ConfirmModal } from "./confirm-modal";
import { QueryView } from "./query-view";

/** The plan of setting options, for an advice or for taking a change back; then doing it. */
export function TablePlanModal({
  cluster,
  advice,
  change,
  onDismiss,
}: {
  cluster: Cluster;
  advice?: Advice;
  change?: TableChange;
  onDismiss: () => void;
}) {
  const [rewrite, setRewrite] = useState(false);
  const of = advice ? { advice: advice.id } : { change: change?.id ?? "" };
  const plan = useQuery(tablePlanQuery(cluster.id, of, rewrite));
  const done = { onSuccess: () => refresh().then(onDismiss) };
  const apply = useMutation({ ...applyAdviceMutation(), ...done });
  const undo = useMutation({ ...undoTableChangeMutation(), ...done });
  const mutation = advice ? apply : undo;
  const submit = () => {
    if (advice) apply.mutate({ path: { cluster_id: cluster.id, advice_id: advice.id }, body: { rewrite } });
    else if (change) undo.mutate({ path: { cluster_id: cluster.id, change_id: change.id }, body: { rewrite } });
  };
  const reason = plan.data ? (plan.data.reason ?? undefined) : "The plan is being made.";
  const rewrites = advice?.change?.rewrite ?? true;
  return (
    <ConfirmModal
      title={advice ? `Apply: ${advice.title}` : `Take back: ${change?.title}`}
      confirm={advice ? "Apply" : "Take back"}
      size="large"
      isPending={mutation.isPending}
      error={mutation.error}
      disabledReason={reason}
      onConfirm={submit}
      onDismiss={onDismiss}
    >
      {rewrites && (
        <Checkbox
          checked={rewrite}
          onChange={({ detail }) => setRewrite(detail.checked)}
          description="Otherwise what is on disk keeps its old form until it is compacted."
        >
          Write the table's files anew afterwards, node by node
        </Checkbox>
      )}
      <QueryView query={plan} lines={5}>
        {(data) => <PlanParts plan={data} />}
      </QueryView>
    </ConfirmModal>
  );
}

function PlanParts({ plan }: { plan: TablePlan }) {
  return (
    <SpaceBetween size="m">
      {plan.reason && <Box color="text-status-warning">{plan.reason}</Box>}
      <div>
        <Box variant="awsui-key-label">Runs</Box>
        <Code content={plan.statement} label="statement" wrapLines />
      </div>
      <div>
        <Box variant="awsui-key-label">The way back</Box>
        <Code content={plan.way_back} label="way back" wrapLines />
      </div>
      <div>
        <Box variant="awsui-key-label">Steps, about {formatDuration(plan.expected_seconds)} in all</Box>
        <ol className="plain-list">
          {plan.steps.map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
      </div>
      {plan.notes.map((note) => (
        <Box key={note} fontSize="body-s" color="text-body-secondary">
          {note}
        </Box>
      ))}
    </SpaceBetween>
  );
}

const UNTIL = [
  { value: "7", label: "For a week" },
  { value: "30", label: "For 30 days" },
  { value: "", label: "For good" },
] as const;

export function DismissModal({
  cluster,
  advice,
  onDismiss,
}: {
  cluster: Cluster;
  advice: Advice;
  onDismiss: () => void;
}) {
  const [reason, setReason] = useState("");
  const [days, setDays] = useState<string>("30");
  const dismiss = useMutation({ ...dismissAdviceMutation(), onSuccess: () => refresh().then(onDismiss) });
  const until = days === "" ? null : new Date(Date.now() + Number(days) * 86_400_000).toISOString();
  return (
    <ConfirmModal
      title={`Dismiss: ${advice.title}`}
      confirm="Dismiss"
      isPending={dismiss.isPending}
      error={dismiss.error}
      disabledReason={reason.trim().length < 3 ? "Say why, in a few words." : undefined}
      onConfirm={() =>
        dismiss.mutate({
          path: { cluster_id: cluster.id, advice_id: advice.id },
          body: { reason: reason.trim(), until },
        })
      }
      onDismiss={onDismiss}
    >
      <FormField label="Why" description="Whoever comes after you reads it.">
        <Input value={reason} onChange={({ detail }) => setReason(detail.value)} />
      </FormField>
      <FormField label="How long">
        <Select
          selectedOption={UNTIL.find(({ value }) => value === days) ?? null}
          options={[...UNTIL]}
          onChange={({ detail }) => setDays(detail.selectedOption.value ?? "")}
        />
      </FormField>
    </ConfirmModal>
  );
}
