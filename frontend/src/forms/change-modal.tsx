import Box from "@cloudscape-design/components/box";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type Cluster, type ClusterChange, changeClusterMutation, type Plan, planQuery, refresh } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { ErrorBox } from "../components/error-box";
import { PlanView } from "../components/plan-view";

interface Props {
  cluster: Cluster;
  title: string;
  confirm: string;
  /** What is wanted; null while the form does not say it yet. */
  change: ClusterChange | null;
  /** What the form still lacks, as a sentence. */
  missing?: string;
  /** "max" where a table needs the width. */
  size?: "large" | "max";
  /** The form, if there is something to choose. */
  children?: ReactNode;
  onDismiss: () => void;
}

/** A change of a cluster: its form, the plan of what would happen, and only then the button. */
export function ChangeModal({ cluster, title, confirm, change, missing, size = "large", children, onDismiss }: Props) {
  const router = useRouter();
  const plan = useQuery({ ...planQuery(cluster.id, change), enabled: change !== null });
  const start = useMutation({
    ...changeClusterMutation(),
    onSuccess: async ({ operation }) => {
      onDismiss();
      void refresh();
      await router.navigate({ to: "/operations/$operationId", params: { operationId: operation.id } });
    },
  });
  return (
    <ConfirmModal
      title={title}
      size={size}
      confirm={confirm}
      isPending={start.isPending}
      error={start.error}
      disabledReason={change === null ? (missing ?? "Choose what to change first.") : reasonAgainst(plan.data)}
      onConfirm={() => change !== null && start.mutate({ path: { cluster_id: cluster.id }, body: change })}
      onDismiss={onDismiss}
    >
      {children}
      {change !== null && (
        <div aria-live="polite">
          <Box variant="h3" padding={{ bottom: "xs" }}>
            What will happen
          </Box>
          {plan.isError ? (
            <ErrorBox error={plan.error} onRetry={() => void plan.refetch()} />
          ) : plan.data ? (
            <PlanView plan={plan.data} />
          ) : (
            <StatusIndicator type="loading">Making the plan</StatusIndicator>
          )}
        </div>
      )}
    </ConfirmModal>
  );
}

function reasonAgainst(plan: Plan | undefined): string | undefined {
  if (plan === undefined) return "The plan is being made.";
  if (plan.changes.length === 0) return "There is nothing to do.";
  return plan.possible
    ? undefined
    : (plan.changes.find(({ reason }) => reason !== null)?.reason ?? "This is not possible now.");
}
