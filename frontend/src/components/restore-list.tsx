import Box from "@cloudscape-design/components/box";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import ProgressBar from "@cloudscape-design/components/progress-bar";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import type { TableProps } from "@cloudscape-design/components/table";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import {
  type Cluster,
  type Restore,
  refresh,
  restoreQuery,
  restoresQuery,
  takeOverMutation,
  takeOverPlanQuery,
  useLiveQuery,
} from "../api";
import { useNow } from "../hooks/use-now";
import { CursorTable } from "../table/cursor-table";
import { formatDuration } from "../util/duration";
import { count, formatBytes } from "../util/size";
import { ConfirmModal } from "./confirm-modal";
import { ErrorBox } from "./error-box";
import { Moment } from "./moment";
import { PlanOf } from "./restore-plan";
import { RouteLink } from "./route-link";
import { RowButton } from "./row-button";

const STATES: Record<Restore["state"], [StatusIndicatorProps.Type, string]> = {
  running: ["in-progress", "Running"],
  succeeded: ["success", "Done"],
  cancelled: ["stopped", "Cancelled"],
};

const MODES: Record<Restore["mode"], string> = {
  copy: "Copied under new names",
  replace: "In place",
  add: "Added",
  cluster: "Into a cluster",
};

/** What was brought back into a cluster, how far it is, and what may follow. */
export function RestoreList({ cluster }: { cluster: Cluster }) {
  const now = useNow(30_000);
  const restores = useLiveQuery(restoresQuery(cluster.id), ({ items }) =>
    items.some(({ state, repair_wanted, repair_operation_id }) =>
      state === "running" ? true : repair_wanted && repair_operation_id === null && state === "succeeded",
    ),
  );
  const [taking, setTaking] = useState<Restore | null>(null);
  const columns: TableProps.ColumnDefinition<Restore>[] = [
    {
      id: "at",
      header: "Ordered",
      isRowHeader: true,
      minWidth: 110,
      cell: ({ created_at }) => <Moment at={created_at} now={now} />,
    },
    { id: "mode", header: "How", cell: ({ mode }) => MODES[mode] },
    { id: "tables", header: "Tables", cell: (each) => <Tables restore={each} /> },
    { id: "state", header: "State", minWidth: 240, cell: (each) => <State restore={each} /> },
    {
      id: "after",
      header: "Afterwards",
      cell: ({ repair_wanted, repair_operation_id, way_back_id }) => (
        <>
          {repair_operation_id ? (
            <RouteLink to="/operations/$operationId" params={{ operationId: repair_operation_id }}>
              Repair
            </RouteLink>
          ) : (
            repair_wanted && "Repair follows"
          )}
          {way_back_id && <Box color="text-body-secondary">Way back: {way_back_id}</Box>}
        </>
      ),
    },
    {
      id: "actions",
      header: "Actions",
      minWidth: 130,
      cell: (each) =>
        each.mode === "copy" && (
          <RowButton
            action="take_over"
            allowed={each.allowed_actions}
            ariaLabel={`Take over ${each.id}`}
            onClick={() => setTaking(each)}
          >
            Take over
          </RowButton>
        ),
    },
  ];
  return (
    <>
      <CursorTable
        noun="restores"
        variant="container"
        page={restores}
        columns={columns}
        header={<Header variant="h2">Restores</Header>}
        empty={<Box color="inherit">Nothing was restored yet. Choose a backup and restore it.</Box>}
      />
      {taking && <TakeOver restore={taking} onDismiss={() => setTaking(null)} />}
    </>
  );
}

function Tables({ restore }: { restore: Restore }) {
  const names = restore.tables.map(({ keyspace, table, as_keyspace, as_table }) => {
    const before = `${keyspace}.${table}`;
    const after = `${as_keyspace ?? keyspace}.${as_table ?? table}`;
    return before === after ? before : `${before} as ${after}`;
  });
  return names.length > 3 ? count(names.length, "table") : names.join(", ");
}

function State({ restore }: { restore: Restore }) {
  const [type, text] = STATES[restore.state];
  return (
    <>
      <StatusIndicator type={type}>{text}</StatusIndicator>
      {restore.state === "running" && <Progress restore={restore} />}
      {restore.operation_id && (
        <RouteLink to="/operations/$operationId" params={{ operationId: restore.operation_id }}>
          {restore.state === "running" ? "Pause, cancel, all steps" : "Operation"}
        </RouteLink>
      )}
    </>
  );
}

/** Bytes of each node that are fetched and verified. */
function Progress({ restore }: { restore: Restore }) {
  const detail = useLiveQuery(restoreQuery(restore.id), ({ state }) => state === "running");
  if (!detail.data) return null;
  const { nodes, remaining_seconds } = detail.data;
  return (
    <>
      {nodes.map(({ name, bytes, fetched_bytes }) => (
        <ProgressBar
          key={name}
          label={name}
          value={bytes === 0 ? 100 : (100 * fetched_bytes) / bytes}
          additionalInfo={`${formatBytes(fetched_bytes)} of ${formatBytes(bytes)}`}
        />
      ))}
      {remaining_seconds !== null && (
        <Box fontSize="body-s" color="text-body-secondary">
          All is fetched in about {formatDuration(remaining_seconds)}
        </Box>
      )}
    </>
  );
}

function TakeOver({ restore, onDismiss }: { restore: Restore; onDismiss: () => void }) {
  const router = useRouter();
  const [days, setDays] = useState("7");
  const plan = useQuery(takeOverPlanQuery(restore.id));
  const start = useMutation({
    ...takeOverMutation(),
    onSuccess: ({ operation }) => {
      void refresh();
      void router.navigate({ to: "/operations/$operationId", params: { operationId: operation.id } });
    },
  });
  const kept = Number(days);
  const wrong = Number.isInteger(kept) && kept >= 1 && kept <= 365 ? undefined : "Keep it for 1 to 365 days.";
  return (
    <ConfirmModal
      title="Take over what the copy shows"
      size="large"
      confirm="Take over"
      isPending={start.isPending}
      error={start.error}
      disabledReason={wrong ?? (plan.data ? plan.data.problems[0] : "The plan is being made.")}
      onConfirm={() => start.mutate({ path: { restore_id: restore.id }, body: { way_back_days: kept } })}
      onDismiss={onDismiss}
    >
      <FormField
        label="Keep the way back for (days)"
        description="A backup of what the live tables hold now. Restore it in place to undo this."
        errorText={wrong}
      >
        <Input value={days} inputMode="numeric" onChange={({ detail }) => setDays(detail.value)} />
      </FormField>
      {plan.isError && <ErrorBox error={plan.error} />}
      {plan.data && <PlanOf plan={plan.data} />}
    </ConfirmModal>
  );
}
