import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import ProgressBar from "@cloudscape-design/components/progress-bar";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import Table from "@cloudscape-design/components/table";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  type Cluster,
  operationQuery,
  type RepairRun,
  type Repairs,
  type RepairTable,
  refresh,
  repairRunsQuery,
  repairsQuery,
  repairTablesQuery,
  setRepairPolicyMutation,
  toApiError,
  useLiveQuery,
} from "../api";
import { ActionButton } from "../components/action-button";
import { Moment } from "../components/moment";
import { OperationActions } from "../components/operation-actions";
import { ProtectionBadge, protectionLook } from "../components/protection-badge";
import { QueryView } from "../components/query-view";
import { RepairMap } from "../components/repair-map";
import { RouteLink } from "../components/route-link";
import { RepairRunModal } from "../forms/repair-run";
import { RepairScheduleForm } from "../forms/repair-schedule";
import { useNow } from "../hooks/use-now";
import { toast } from "../hooks/use-toasts";
import { CursorTable } from "../table/cursor-table";
import { formatBytes } from "../util/size";

const RUN: Record<RepairRun["state"], [StatusIndicatorProps.Type, string]> = {
  running: ["in-progress", "Running"],
  done: ["success", "Done"],
  partial: ["warning", "Done in part"],
  stopped: ["stopped", "Stopped"],
};

const REASON: Record<RepairRun["reason"], string> = {
  schedule: "Schedule",
  order: "By hand",
  "catch-up": "A node was away",
  restore: "After a restore",
  import: "After an import",
};

const MODE: Record<RepairTable["mode"], string> = {
  incremental: "Incremental",
  full: "Full",
  pull: "Pull",
  skip: "Skipped",
};

const WISHES = [
  { value: "auto", label: "Automatic" },
  { value: "incremental", label: "Incremental" },
  { value: "full", label: "Full" },
  { value: "skip", label: "Skip" },
] as const;

/** How a cluster's replicas are kept equal: what runs now, how well tables are protected, and the schedule. */
export function ClusterRepairs({ cluster }: { cluster: Cluster }) {
  const repairs = useLiveQuery(repairsQuery(cluster.id), ({ current_run }) => current_run !== null);
  return (
    <QueryView query={repairs} lines={6}>
      {(data) => (
        <SpaceBetween size="l">
          <Now cluster={cluster} repairs={data} />
          {data.current_run && <RepairMap cluster={cluster} runId={data.current_run.id} isLive />}
          <Tables cluster={cluster} isLive={data.current_run !== null} />
          <Runs cluster={cluster} isLive={data.current_run !== null} />
          {data.schedule && (
            <RepairScheduleForm
              key={JSON.stringify([data.schedule.windows, data.schedule.intensity, data.schedule.enabled])}
              cluster={cluster}
              saved={data.schedule}
            />
          )}
        </SpaceBetween>
      )}
    </QueryView>
  );
}

function Now({ cluster, repairs }: { cluster: Cluster; repairs: Repairs }) {
  const [isAsking, setIsAsking] = useState(false);
  const { current_run: run, schedule } = repairs;
  return (
    <Container
      header={
        <Header
          variant="h2"
          actions={
            run ? (
              <RunActions run={run} />
            ) : (
              <ActionButton
                action="run_repair"
                allowed={repairs.allowed_actions}
                variant="primary"
                onClick={() => setIsAsking(true)}
              >
                Repair now
              </ActionButton>
            )
          }
        >
          Repairs
        </Header>
      }
    >
      <SpaceBetween size="m">
        {run ? (
          <SpaceBetween size="s">
            <ProgressBar
              ariaLabel="Progress of the repair"
              value={Math.floor(run.progress * 100)}
              label={`${REASON[run.reason]}: ${run.segments_done} of about ${run.segments_expected} segments`}
              additionalInfo={run.note || `${formatBytes(run.bytes_streamed)} moved`}
            />
            {run.brake.factor < 1 && (
              <Alert type="warning" statusIconAriaLabel="Warning" header="Slowed down by itself">
                {run.brake.reason}
              </Alert>
            )}
          </SpaceBetween>
        ) : (
          <Box color="text-body-secondary">
            {schedule?.next_run_at ? (
              <>
                Nothing is being repaired. The next run begins: <Moment at={schedule.next_run_at} />
              </>
            ) : (
              "Nothing is being repaired, and nothing is planned."
            )}
          </Box>
        )}
        <KeyValuePairs
          columns={4}
          items={(["good", "amber", "red", "over"] as const).map((state) => ({
            label: protectionLook(state)[1],
            // Red is for what is there: none of a bad kind is no bad news.
            value: repairs.tables[state] ? (
              <StatusIndicator type={protectionLook(state)[0]}>{repairs.tables[state]}</StatusIndicator>
            ) : (
              0
            ),
          }))}
        />
      </SpaceBetween>
      {isAsking && <RepairRunModal cluster={cluster} onDismiss={() => setIsAsking(false)} />}
    </Container>
  );
}

function RunActions({ run }: { run: RepairRun }) {
  const operation = useQuery(operationQuery(run.operation_id));
  return (
    <SpaceBetween direction="horizontal" size="xs">
      <RouteLink to="/operations/$operationId" params={{ operationId: run.operation_id }}>
        Operation
      </RouteLink>
      {operation.data && <OperationActions operation={operation.data} />}
    </SpaceBetween>
  );
}

function Tables({ cluster, isLive }: { cluster: Cluster; isLive: boolean }) {
  const [cursors, setCursors] = useState<string[]>([]);
  const now = useNow(30_000);
  const tables = useLiveQuery(repairTablesQuery(cluster.id, cursors.at(-1)), () => isLive);
  const page = {
    ...tables,
    data: tables.data && {
      ...tables.data,
      items: tables.data.items.map((each) => ({ ...each, id: `${each.keyspace}.${each.table}` })),
    },
  } as Parameters<typeof CursorTable<RepairTable & { id: string }>>[0]["page"];
  return (
    <CursorTable
      noun="tables"
      variant="container"
      page={page}
      cursors={cursors}
      onCursors={(next) => setCursors(next ?? [])}
      header={
        <Header variant="h2" description="Until when what was deleted surely stays deleted.">
          Tables
        </Header>
      }
      empty={<Box color="inherit">The nodes have not been asked for their tables yet; the first run does that.</Box>}
      columns={[
        { id: "name", header: "Table", isRowHeader: true, minWidth: 140, maxWidth: 260, cell: ({ id }) => id },
        {
          id: "protection",
          header: "Protected until",
          minWidth: 170,
          cell: ({ protection, protected_until }) => (
            <ProtectionBadge protection={protection} until={protected_until} now={now} />
          ),
        },
        {
          id: "last",
          header: "Repaired",
          minWidth: 100,
          cell: ({ repaired_at }) => <Moment at={repaired_at} now={now} />,
        },
        {
          id: "mode",
          header: "Next time",
          minWidth: 180,
          cell: ({ mode, mode_reason }) => (
            <>
              {MODE[mode]}
              <Box fontSize="body-s" color="text-body-secondary">
                {mode_reason}
              </Box>
            </>
          ),
        },
        { id: "size", header: "One copy", minWidth: 100, cell: ({ bytes }) => formatBytes(bytes) },
        { id: "policy", header: "Policy", minWidth: 150, cell: (table) => <Policy cluster={cluster} table={table} /> },
      ]}
    />
  );
}

function Policy({ cluster, table }: { cluster: Cluster; table: RepairTable }) {
  const save = useMutation({
    ...setRepairPolicyMutation(),
    onSuccess: () => refresh(),
    onError: (problem) => toast({ type: "error", content: toApiError(problem, undefined).message }),
  });
  return (
    <Select
      ariaLabel={`Policy of ${table.keyspace}.${table.table}`}
      selectedOption={WISHES.find(({ value }) => value === table.policy.mode) ?? null}
      options={[...WISHES]}
      onChange={({ detail }) =>
        save.mutate({
          path: { cluster_id: cluster.id, keyspace: table.keyspace, table: table.table },
          body: { mode: detail.selectedOption.value as RepairTable["policy"]["mode"] },
        })
      }
    />
  );
}

function Runs({ cluster, isLive }: { cluster: Cluster; isLive: boolean }) {
  const runs = useLiveQuery(repairRunsQuery(cluster.id), () => isLive);
  const now = useNow(30_000);
  return (
    <QueryView query={runs} lines={2}>
      {({ items }) => (
        <Table
          variant="container"
          trackBy="id"
          wrapLines
          items={items}
          ariaLabels={{ tableLabel: "Runs" }}
          header={<Header variant="h2">Runs</Header>}
          empty={<Box color="inherit">Nothing has been repaired yet.</Box>}
          columnDefinitions={[
            {
              id: "state",
              header: "State",
              isRowHeader: true,
              cell: ({ state }) => <StatusIndicator type={RUN[state][0]}>{RUN[state][1]}</StatusIndicator>,
            },
            { id: "reason", header: "Why", cell: ({ reason }) => REASON[reason] },
            { id: "segments", header: "Segments", cell: ({ segments_done }) => segments_done },
            { id: "lost", header: "Given up", cell: ({ segments_given_up }) => segments_given_up },
            { id: "moved", header: "Moved", cell: ({ bytes_streamed }) => formatBytes(bytes_streamed) },
            { id: "began", header: "Began", cell: ({ started_at }) => <Moment at={started_at} now={now} /> },
            { id: "ended", header: "Ended", cell: ({ finished_at }) => <Moment at={finished_at} now={now} /> },
            {
              id: "operation",
              header: "Activity",
              cell: ({ operation_id }) => (
                <RouteLink to="/operations/$operationId" params={{ operationId: operation_id }}>
                  Operation
                </RouteLink>
              ),
            },
          ]}
        />
      )}
    </QueryView>
  );
}
