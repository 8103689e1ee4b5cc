import Box from "@cloudscape-design/components/box";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import {
  type Catalog,
  type CloneOrder,
  type ClonePlan,
  type Cluster,
  type ClusterBackups,
  catalogQuery,
  cloneClusterMutation,
  clonePlanQuery,
  refresh,
} from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { ErrorBox } from "../components/error-box";
import { PlanProblems, PlanSteps } from "../components/plan-parts";
import { formatDuration } from "../util/duration";
import { likeCluster, missingIn } from "../util/new-cluster";
import { count, formatBytes } from "../util/size";
import { choice } from "./backup-create";
import { LocationField } from "./location-field";
import { NewClusterFields } from "./new-cluster-fields";
import { TableChoiceField } from "./table-choice-field";

interface Props {
  cluster: Cluster;
  overview: ClusterBackups;
  onDismiss: () => void;
}

/** A new cluster with what this one holds now: asks for its shape, shows the plan, and orders it. */
export function ClusterCloneModal(props: Props) {
  const catalog = useQuery(catalogQuery());
  return catalog.data ? <Clone {...props} catalog={catalog.data} /> : null;
}

function Clone({ cluster, overview, onDismiss, catalog }: Props & { catalog: Catalog }) {
  const router = useRouter();
  const [wanted, setWanted] = useState(() => likeCluster(cluster, catalog, { suffix: "-clone" }));
  const [selection, setSelection] = useState<string[]>([]);
  const [location, setLocation] = useState<string | null>(null);
  const [days, setDays] = useState("7");
  const keep = Number(days);
  const wrong = Number.isInteger(keep) && keep >= 1 && keep <= 365 ? undefined : "Keep it for 1 to 365 days.";
  const missing = missingIn(wanted) ?? wrong;
  const order: CloneOrder | null = missing
    ? null
    : { new_cluster: wanted, selection: selection.map(choice), location_id: location, keep_days: keep };
  const plan = useQuery({
    ...clonePlanQuery(cluster.id, order),
    enabled: order !== null,
    placeholderData: keepPreviousData,
  });
  const clone = useMutation({
    ...cloneClusterMutation(),
    onSuccess: ({ operation }) => {
      void refresh();
      void router.navigate({ to: "/operations/$operationId", params: { operationId: operation.id } });
    },
  });
  const isPlanned = plan.data !== undefined && !plan.isPlaceholderData;
  return (
    <ConfirmModal
      title={`Clone ${cluster.name}`}
      size="large"
      confirm="Clone"
      isPending={clone.isPending}
      error={clone.error}
      disabledReason={missing ?? (isPlanned ? plan.data.problems[0] : "The plan is being made.")}
      onConfirm={() => order && clone.mutate({ path: { cluster_id: cluster.id }, body: order })}
      onDismiss={onDismiss}
    >
      <Box>
        A new cluster with the rows of now: {cluster.name} is backed up, and the backup is restored into it. The
        application does not notice.
      </Box>
      <NewClusterFields
        catalog={catalog}
        order={wanted}
        onChange={(changes) => setWanted((before) => ({ ...before, ...changes }))}
      />
      <TableChoiceField tables={overview.tables} value={selection} onChange={setSelection} />
      <LocationField label="Location of the backup" value={location} onChange={setLocation} />
      <FormField label="Keep the backup for (days)" errorText={wrong}>
        <Input value={days} inputMode="numeric" onChange={({ detail }) => setDays(detail.value)} />
      </FormField>
      {order && plan.isError && <ErrorBox error={plan.error} />}
      {order && plan.data && <ShownPlan plan={plan.data} />}
    </ConfirmModal>
  );
}

function ShownPlan({ plan }: { plan: ClonePlan }) {
  return (
    <SpaceBetween size="s">
      <PlanProblems problems={plan.problems} />
      <KeyValuePairs
        columns={4}
        items={[
          { label: "Data", value: plan.bytes === null ? "Not known yet" : formatBytes(plan.bytes) },
          {
            label: "To upload, about",
            value: plan.new_bytes === null ? "Not known yet" : formatBytes(plan.new_bytes),
          },
          {
            label: "The backup takes about",
            value: plan.seconds === null ? "Not known yet" : formatDuration(plan.seconds),
          },
          { label: "New nodes", value: plan.nodes_total === null ? "–" : count(plan.nodes_total, "node") },
        ]}
      />
      <PlanSteps steps={plan.steps} />
      {plan.warnings.map((warning) => (
        <Box key={warning} color="text-body-secondary">
          {warning}
        </Box>
      ))}
    </SpaceBetween>
  );
}
