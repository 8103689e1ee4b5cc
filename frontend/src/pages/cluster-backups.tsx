import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Table from "@cloudscape-design/components/table";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import {
  type BackupSchedule,
  backupSchedulesQuery,
  type Cluster,
  clusterBackupsOverviewQuery,
  clusterBackupsQuery,
  deleteBackupScheduleMutation,
  type ClusterBackups as Overview,
  refresh,
  useLiveQuery,
} from "../api";
import { ActionButton } from "../components/action-button";
import { BackupTable } from "../components/backup-table";
import { ClusterImports } from "../components/cluster-imports";
import { ConfirmModal } from "../components/confirm-modal";
import { DrillPanel } from "../components/drill-panel";
import { LogArchiveCard } from "../components/log-archive";
import { Moment } from "../components/moment";
import { QueryView } from "../components/query-view";
import { RestoreList } from "../components/restore-list";
import { RowButton } from "../components/row-button";
import { BackupCreateModal } from "../forms/backup-create";
import { BackupScheduleModal } from "../forms/backup-schedule";
import { ClusterCloneModal } from "../forms/cluster-clone";
import { count } from "../util/size";

/** When a cluster is backed up, and the backups that there are. */
export function ClusterBackups({ cluster }: { cluster: Cluster }) {
  const overview = useLiveQuery(clusterBackupsOverviewQuery(cluster.id), ({ tables_read_at }) => !tables_read_at);
  return (
    <QueryView query={overview} lines={5}>
      {(data) => (
        <SpaceBetween size="l">
          <Backups cluster={cluster} overview={data} />
          <RestoreList cluster={cluster} />
          <DrillPanel cluster={cluster} />
          <Schedules cluster={cluster} overview={data} />
          <LogArchiveCard cluster={cluster} />
          <ClusterImports cluster={cluster} />
        </SpaceBetween>
      )}
    </QueryView>
  );
}

function Backups({ cluster, overview }: { cluster: Cluster; overview: Overview }) {
  const backups = useLiveQuery(clusterBackupsQuery(cluster.id), ({ items }) =>
    items.some(({ state }) => state === "running" || state === "deleting"),
  );
  const [isCreating, setIsCreating] = useState(false);
  const [isCloning, setIsCloning] = useState(false);
  return (
    <>
      <BackupTable
        page={backups}
        header={
          <Header
            variant="h2"
            description={
              overview.last_complete_at ? (
                <>
                  Last complete backup: <Moment at={overview.last_complete_at} />
                </>
              ) : (
                "There is no complete backup yet."
              )
            }
            actions={
              <SpaceBetween direction="horizontal" size="xs">
                <ActionButton
                  action="clone_cluster"
                  allowed={overview.allowed_actions}
                  onClick={() => setIsCloning(true)}
                >
                  Clone cluster
                </ActionButton>
                <ActionButton
                  variant="primary"
                  action="create_backup"
                  allowed={overview.allowed_actions}
                  onClick={() => setIsCreating(true)}
                >
                  Back up now
                </ActionButton>
              </SpaceBetween>
            }
          >
            Backups
          </Header>
        }
        empty={<Box color="inherit">No backups yet. Make one now, or have them made on schedule.</Box>}
      />
      {isCloning && <ClusterCloneModal cluster={cluster} overview={overview} onDismiss={() => setIsCloning(false)} />}
      {isCreating && <BackupCreateModal cluster={cluster} overview={overview} onDismiss={() => setIsCreating(false)} />}
    </>
  );
}

function Schedules({ cluster, overview }: { cluster: Cluster; overview: Overview }) {
  const schedules = useLiveQuery(backupSchedulesQuery(cluster.id), () => false);
  const [editing, setEditing] = useState<BackupSchedule | "new" | null>(null);
  const [deleting, setDeleting] = useState<BackupSchedule | null>(null);
  return (
    <>
      <QueryView query={schedules} lines={3}>
        {({ items, allowed_actions }) => (
          <Table
            variant="container"
            trackBy="id"
            wrapLines
            items={items}
            ariaLabels={{ tableLabel: "Schedules" }}
            header={
              <Header
                variant="h2"
                actions={
                  <ActionButton
                    action="create_backup_schedule"
                    allowed={allowed_actions}
                    onClick={() => setEditing("new")}
                  >
                    Add schedule
                  </ActionButton>
                }
              >
                Schedules
              </Header>
            }
            empty={<Box color="inherit">Nothing is backed up by itself.</Box>}
            columnDefinitions={[
              { id: "name", header: "Name", isRowHeader: true, cell: ({ name }) => name },
              { id: "when", header: "When", cell: when },
              {
                id: "next",
                header: "Next",
                cell: ({ due_at }) => (due_at ? <Moment at={due_at} /> : "Not by itself"),
              },
              { id: "tables", header: "Tables", cell: tables },
              { id: "kept", header: "Kept", cell: kept },
              { id: "where", header: "Where", cell: ({ location_name }) => location_name },
              {
                id: "actions",
                header: "Actions",
                cell: (each) => (
                  <SpaceBetween direction="horizontal" size="s">
                    <RowButton
                      action="replace_backup_schedule"
                      allowed={each.allowed_actions}
                      ariaLabel={`Change ${each.name}`}
                      onClick={() => setEditing(each)}
                    >
                      Change
                    </RowButton>
                    <RowButton
                      action="delete_backup_schedule"
                      allowed={each.allowed_actions}
                      ariaLabel={`Delete ${each.name}`}
                      onClick={() => setDeleting(each)}
                    >
                      Delete
                    </RowButton>
                  </SpaceBetween>
                ),
              },
            ]}
          />
        )}
      </QueryView>
      {editing && (
        <BackupScheduleModal
          cluster={cluster}
          overview={overview}
          schedule={editing === "new" ? null : editing}
          onDismiss={() => setEditing(null)}
        />
      )}
      {deleting && <DeleteSchedule cluster={cluster} schedule={deleting} onDismiss={() => setDeleting(null)} />}
    </>
  );
}

function DeleteSchedule({
  cluster,
  schedule,
  onDismiss,
}: {
  cluster: Cluster;
  schedule: BackupSchedule;
  onDismiss: () => void;
}) {
  const remove = useMutation({
    ...deleteBackupScheduleMutation(),
    onSuccess: () => {
      onDismiss();
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Delete the schedule ${schedule.name}?`}
      confirm="Delete"
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ path: { cluster_id: cluster.id, schedule_id: schedule.id } })}
      onDismiss={onDismiss}
    >
      <Box>It makes no more backups. Those that it made are kept as it says.</Box>
    </ConfirmModal>
  );
}

function when({ cron, interval_minutes, time_zone }: BackupSchedule): string {
  if (cron) return `${cron} (${time_zone})`;
  const minutes = interval_minutes ?? 0;
  return minutes % 60 === 0 ? `every ${count(minutes / 60, "hour")}` : `every ${count(minutes, "minute")}`;
}

function kept({ keep_days, keep_count, keep_after_deletion_days }: BackupSchedule): string {
  const words = [keep_days && `for ${count(keep_days, "day")}`, keep_count && `at most the last ${keep_count}`];
  const gone = `${count(keep_after_deletion_days, "day")} after the cluster's deletion`;
  return `${words.filter(Boolean).join(", ")}; ${gone}`;
}

function tables({ selection }: BackupSchedule): string {
  if (selection.length === 0) return "All";
  return selection.map(({ keyspace, table }) => (table ? `${keyspace}.${table}` : `${keyspace}.*`)).join(", ");
}
