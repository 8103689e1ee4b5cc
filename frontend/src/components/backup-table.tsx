import Box from "@cloudscape-design/components/box";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { TableProps } from "@cloudscape-design/components/table";
import { type UseQueryResult, useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { type Backup, type BackupPage, refresh, toApiError, verifyBackupMutation } from "../api";
import { BackupDeleteModal } from "../forms/backup-delete";
import { BackupDownloadModal } from "../forms/backup-download";
import { BackupRestoreModal } from "../forms/backup-restore";
import { useNow } from "../hooks/use-now";
import { toast } from "../hooks/use-toasts";
import { CursorTable } from "../table/cursor-table";
import { formatBytes } from "../util/size";
import { BackupStateBadge } from "./backup-state";
import { Moment } from "./moment";
import { RouteLink } from "./route-link";
import { RowButton } from "./row-button";

/** Backups, newest first, with what can be done with each. `withCluster`: they are of several. */
export function BackupTable({
  page,
  header,
  empty,
  withCluster = false,
}: {
  page: UseQueryResult<BackupPage, unknown>;
  header: ReactNode;
  empty: ReactNode;
  withCluster?: boolean;
}) {
  const now = useNow(30_000);
  const [restoring, setRestoring] = useState<Backup | null>(null);
  const [deleting, setDeleting] = useState<Backup | null>(null);
  const [downloading, setDownloading] = useState<Backup | null>(null);
  const verify = useMutation({
    ...verifyBackupMutation(),
    onSuccess: () => {
      toast({ type: "success", content: "The backup is being verified." });
      return refresh();
    },
    onError: (problem) => toast({ type: "error", content: toApiError(problem, undefined).message }),
  });
  const columns: TableProps.ColumnDefinition<Backup>[] = [
    {
      id: "taken",
      header: "Taken",
      isRowHeader: true,
      minWidth: 130,
      cell: ({ taken_at, created_at }) => <Moment at={taken_at ?? created_at} now={now} />,
    },
    ...(withCluster ? [CLUSTER] : []),
    { id: "state", header: "State", minWidth: 160, cell: (each) => <State backup={each} /> },
    {
      id: "by",
      header: "Made by",
      cell: ({ schedule_name, created_by }) => schedule_name ?? created_by,
    },
    { id: "size", header: "Size", minWidth: 120, cell: (each) => <Size backup={each} /> },
    {
      id: "verified",
      header: "Verified",
      cell: ({ verified_at }) => (verified_at ? <Moment at={verified_at} now={now} /> : "Not yet"),
    },
    {
      id: "actions",
      header: "Actions",
      minWidth: 200,
      cell: (each) => (
        <SpaceBetween direction="horizontal" size="s">
          <RowButton
            action="restore_backup"
            allowed={each.allowed_actions}
            ariaLabel={`Restore ${each.id}`}
            onClick={() => setRestoring(each)}
          >
            Restore
          </RowButton>
          <RowButton
            action="verify_backup"
            allowed={each.allowed_actions}
            ariaLabel={`Verify ${each.id}`}
            onClick={() => verify.mutate({ path: { backup_id: each.id } })}
          >
            Verify
          </RowButton>
          <RowButton
            action="download_backup"
            allowed={each.allowed_actions}
            ariaLabel={`Take out ${each.id}`}
            onClick={() => setDownloading(each)}
          >
            Take out
          </RowButton>
          <RowButton
            action="delete_backup"
            allowed={each.allowed_actions}
            ariaLabel={`Delete ${each.id}`}
            onClick={() => setDeleting(each)}
          >
            Delete
          </RowButton>
        </SpaceBetween>
      ),
    },
  ];
  return (
    <>
      <CursorTable noun="backups" variant="container" page={page} columns={columns} header={header} empty={empty} />
      {restoring && <BackupRestoreModal backup={restoring} onDismiss={() => setRestoring(null)} />}
      {downloading && <BackupDownloadModal backup={downloading} onDismiss={() => setDownloading(null)} />}
      {deleting && <BackupDeleteModal backup={deleting} onDismiss={() => setDeleting(null)} />}
    </>
  );
}

const CLUSTER: TableProps.ColumnDefinition<Backup> = {
  id: "cluster",
  header: "Cluster",
  cell: ({ cluster_id, cluster_name, cluster_deleted }) => (
    <>
      <RouteLink to="/clusters/$clusterId" params={{ clusterId: cluster_id }}>
        {cluster_name}
      </RouteLink>
      {cluster_deleted && (
        <Box fontSize="body-s" color="text-body-secondary">
          deleted
        </Box>
      )}
    </>
  ),
};

function State({ backup }: { backup: Backup }) {
  const words = [backup.damaged ? `Object ${backup.damaged}` : null, ...backup.missing, backup.reason];
  return (
    <>
      <BackupStateBadge backup={backup} />
      {backup.state === "running" && backup.operation_id && (
        <RouteLink to="/operations/$operationId" params={{ operationId: backup.operation_id }}>
          Progress
        </RouteLink>
      )}
      {words.filter(Boolean).map((each) => (
        <Box key={each} fontSize="body-s" color="text-body-secondary">
          {each}
        </Box>
      ))}
    </>
  );
}

function Size({ backup }: { backup: Backup }) {
  if (backup.bundles === 0) return "—";
  return (
    <>
      {formatBytes(backup.bytes)}
      <Box fontSize="body-s" color="text-body-secondary">
        {formatBytes(backup.new_bytes)} were new
      </Box>
    </>
  );
}
