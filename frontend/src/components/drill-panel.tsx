import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import Modal from "@cloudscape-design/components/modal";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import Table, { type TableProps } from "@cloudscape-design/components/table";
import { useState } from "react";
import { type Cluster, clusterDrillsQuery, type Drill, type DrillSchedule, drillsQuery, useLiveQuery } from "../api";
import { DrillModal, DrillScheduleModal } from "../forms/drill";
import { useNow } from "../hooks/use-now";
import { CursorTable } from "../table/cursor-table";
import { formatDuration } from "../util/duration";
import { count, formatBytes } from "../util/size";
import { ActionButton } from "./action-button";
import { Moment } from "./moment";
import { QueryView } from "./query-view";
import { RouteLink } from "./route-link";
import { RowButton } from "./row-button";

const STATES: Record<Drill["state"], [StatusIndicatorProps.Type, string]> = {
  running: ["in-progress", "Running"],
  proved: ["success", "Proved"],
  failed: ["error", "Failed"],
  cancelled: ["stopped", "Cancelled"],
};

const VERDICTS: Record<Drill["tables"][number]["verdict"], [StatusIndicatorProps.Type, string]> = {
  equal: ["success", "As live, row for row"],
  changed: ["success", "As live where nothing changed"],
  read: ["info", "Read, not compared"],
  lacks: ["error", "Lacks rows"],
  differs: ["error", "Differs"],
};

const STAGES: Record<string, string> = {
  ordered: "Ordered",
  served: "Cluster serves",
  restored: "Tables answer",
  read: "All rows read",
  compared: "Compared",
  removed: "Cluster removed",
};

/** Restores for a trial: what the last one has proved, when the next one is, and all reports. */
export function DrillPanel({ cluster }: { cluster: Cluster }) {
  const now = useNow(30_000);
  const overview = useLiveQuery(clusterDrillsQuery(cluster.id), ({ running }) => running !== null);
  const drills = useLiveQuery(drillsQuery(cluster.id), ({ items }) => items.some(({ state }) => state === "running"));
  const [open, setOpen] = useState<"now" | "schedule" | null>(null);
  const [shown, setShown] = useState<Drill | null>(null);
  const columns: TableProps.ColumnDefinition<Drill>[] = [
    {
      id: "at",
      header: "Begun",
      isRowHeader: true,
      minWidth: 110,
      cell: ({ created_at }) => <Moment at={created_at} now={now} />,
    },
    { id: "state", header: "Result", minWidth: 220, cell: (each) => <Result drill={each} /> },
    { id: "backup", header: "Backup of", cell: ({ taken_at }) => <Moment at={taken_at} now={now} /> },
    {
      id: "rto",
      header: "Time to recovery",
      cell: ({ rto_seconds }) => (rto_seconds === null ? "–" : formatDuration(rto_seconds)),
    },
    { id: "rows", header: "Rows read", cell: ({ tables }) => rows(tables) },
    {
      id: "actions",
      header: "Actions",
      cell: (each) => (
        <RowButton
          action="show"
          allowed={[{ action: "show", allowed: true, reason: null }]}
          ariaLabel={`Report of ${each.id}`}
          onClick={() => setShown(each)}
        >
          Report
        </RowButton>
      ),
    },
  ];
  return (
    <QueryView query={overview} lines={3}>
      {(data) => (
        <>
          <CursorTable
            noun="restore drills"
            variant="container"
            page={drills}
            columns={columns}
            header={
              <Header
                variant="h2"
                description={
                  <>
                    {data.last_proved?.finished_at ? (
                      <>
                        Last proved by restoring: <Moment at={data.last_proved.finished_at} />
                      </>
                    ) : (
                      "No restore has been proved yet."
                    )}{" "}
                    {inWords(data.schedule)}
                  </>
                }
                actions={
                  <SpaceBetween direction="horizontal" size="xs">
                    <ActionButton
                      action="set_drill_schedule"
                      allowed={data.allowed_actions}
                      onClick={() => setOpen("schedule")}
                    >
                      {data.schedule ? "Change schedule" : "Drill on schedule"}
                    </ActionButton>
                    <ActionButton action="start_drill" allowed={data.allowed_actions} onClick={() => setOpen("now")}>
                      Drill now
                    </ActionButton>
                  </SpaceBetween>
                }
              >
                Restore drills
              </Header>
            }
            empty={
              <Box color="inherit">
                No drills yet. A drill restores a backup into a cluster of its own, compares the rows and removes it.
              </Box>
            }
          />
          {open === "now" && <DrillModal cluster={cluster} onDismiss={() => setOpen(null)} />}
          {open === "schedule" && (
            <DrillScheduleModal cluster={cluster} schedule={data.schedule} onDismiss={() => setOpen(null)} />
          )}
          {shown && <Report drill={shown} onDismiss={() => setShown(null)} />}
        </>
      )}
    </QueryView>
  );
}

function Result({ drill }: { drill: Drill }) {
  const [type, text] = STATES[drill.state];
  return (
    <>
      <StatusIndicator type={type}>{text}</StatusIndicator>
      {drill.state === "running" && drill.operation_id && (
        <RouteLink to="/operations/$operationId" params={{ operationId: drill.operation_id }}>
          Progress
        </RouteLink>
      )}
      {drill.reason && (
        <Box fontSize="body-s" color="text-body-secondary">
          {drill.reason}
        </Box>
      )}
    </>
  );
}

function Report({ drill, onDismiss }: { drill: Drill; onDismiss: () => void }) {
  const [type, text] = STATES[drill.state];
  return (
    <Modal visible size="large" header="Report of a restore drill" closeAriaLabel="Close" onDismiss={onDismiss}>
      <SpaceBetween size="m">
        {drill.reason && (
          <Alert type="error" statusIconAriaLabel="Error">
            {drill.reason}
          </Alert>
        )}
        <KeyValuePairs
          columns={4}
          items={[
            { label: "Result", value: <StatusIndicator type={type}>{text}</StatusIndicator> },
            {
              label: "Time to recovery",
              value: drill.rto_seconds === null ? "–" : formatDuration(drill.rto_seconds),
            },
            { label: "Fetched and verified", value: formatBytes(drill.bytes) },
            { label: "Its cluster", value: drill.scratch_gone ? "Removed" : "Still there" },
          ]}
        />
        <Box>
          <Box variant="awsui-key-label">Stages</Box>
          <ol aria-label="Stages">
            {drill.stages.map(({ name, seconds }) => (
              <li key={name}>
                {STAGES[name] ?? name}: {formatDuration(seconds)}
              </li>
            ))}
          </ol>
        </Box>
        <Table
          variant="embedded"
          wrapLines
          items={drill.tables}
          ariaLabels={{ tableLabel: "What was found of each table" }}
          empty={<Box color="inherit">It did not come to comparing.</Box>}
          columnDefinitions={[
            {
              id: "table",
              header: "Table",
              isRowHeader: true,
              cell: ({ keyspace, table }) => `${keyspace}.${table}`,
            },
            { id: "verdict", header: "Found", cell: ({ verdict }) => <Verdict verdict={verdict} /> },
            { id: "rows", header: "Rows", cell: ({ rows }) => rows.toLocaleString("en") },
            {
              id: "live",
              header: "Live now",
              cell: ({ live_rows }) => (live_rows === null ? "Not read" : live_rows.toLocaleString("en")),
            },
            { id: "slices", header: "Slices equal", cell: ({ equal_slices }) => `${equal_slices} of 64` },
            { id: "note", header: "Note", cell: ({ note }) => note || "–" },
          ]}
        />
      </SpaceBetween>
    </Modal>
  );
}

function Verdict({ verdict }: { verdict: Drill["tables"][number]["verdict"] }) {
  const [type, text] = VERDICTS[verdict];
  return <StatusIndicator type={type}>{text}</StatusIndicator>;
}

function rows(tables: Drill["tables"]): string {
  if (tables.length === 0) return "–";
  const sum = tables.reduce((total, each) => total + each.rows, 0);
  return `${sum.toLocaleString("en")} in ${count(tables.length, "table")}`;
}

function inWords(schedule: DrillSchedule | null): string {
  if (!schedule?.enabled) return "Drills are made by hand only.";
  if (schedule.skipped) return `The last turn was passed over: ${schedule.skipped}`;
  const hours = (schedule.interval_minutes ?? 0) / 60;
  return schedule.cron ? `On schedule: ${schedule.cron} (${schedule.time_zone}).` : `Every ${count(hours, "hour")}.`;
}
