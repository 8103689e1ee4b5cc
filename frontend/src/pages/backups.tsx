import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import ContentLayout from "@cloudscape-design/components/content-layout";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Table from "@cloudscape-design/components/table";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import {
  type BackupLocation,
  backupLocationsQuery,
  backupsQuery,
  checkBackupLocationMutation,
  deleteBackupLocationMutation,
  refresh,
  toApiError,
  useLiveQuery,
  useMay,
} from "../api";
import { BackupTable } from "../components/backup-table";
import { Moment } from "../components/moment";
import { QueryView } from "../components/query-view";
import { RowButton } from "../components/row-button";
import { BackupLocationCreateModal } from "../forms/backup-location-create";
import { LocationPurgeModal } from "../forms/location-purge";
import { useTitle } from "../hooks/use-title";
import { toast } from "../hooks/use-toasts";
import { formatBytes } from "../util/size";

/** All backups of the organisation, also of clusters that are gone, and where they are kept. */
export function BackupsPage() {
  useTitle("Backups");
  const backups = useLiveQuery(backupsQuery(), ({ items }) =>
    items.some(({ state }) => state === "running" || state === "deleting"),
  );
  return (
    <ContentLayout
      header={
        <Header variant="h1" description="They outlive their clusters as long as their schedules say.">
          Backups
        </Header>
      }
    >
      <SpaceBetween size="l">
        <BackupTable
          withCluster
          page={backups}
          header={<Header variant="h2">All backups</Header>}
          empty={<Box color="inherit">No backups yet. Each cluster has a tab for them.</Box>}
        />
        <Locations />
      </SpaceBetween>
    </ContentLayout>
  );
}

function Locations() {
  const locations = useLiveQuery(backupLocationsQuery(), ({ items }) =>
    items.some(({ check_operation_id }) => check_operation_id !== null),
  );
  const mayAdd = useMay("cloud-accounts:write");
  const [isAdding, setIsAdding] = useState(false);
  const [purging, setPurging] = useState<BackupLocation | null>(null);
  const onError = (problem: unknown) => toast({ type: "error", content: toApiError(problem, undefined).message });
  const check = useMutation({ ...checkBackupLocationMutation(), onSuccess: () => refresh(), onError });
  const remove = useMutation({ ...deleteBackupLocationMutation(), onSuccess: () => refresh(), onError });
  return (
    <>
      <QueryView query={locations} lines={3}>
        {({ items }) => (
          <Table
            variant="container"
            trackBy="id"
            wrapLines
            items={items}
            ariaLabels={{ tableLabel: "Locations" }}
            header={
              <Header
                variant="h2"
                description="Everything is encrypted with a key of your organisation before it leaves a node."
                actions={
                  <Button
                    disabled={!mayAdd}
                    disabledReason={mayAdd ? undefined : "Your role may not change backup locations."}
                    onClick={() => setIsAdding(true)}
                  >
                    Add location
                  </Button>
                }
              >
                Locations
              </Header>
            }
            empty={<Box color="inherit">There is no place for backups yet. Add a bucket.</Box>}
            columnDefinitions={[
              { id: "name", header: "Name", isRowHeader: true, cell: ({ name }) => name },
              { id: "address", header: "Where", cell: ({ address }) => address },
              { id: "state", header: "State", minWidth: 200, cell: (each) => <State location={each} /> },
              { id: "backups", header: "Backups", cell: ({ backups }) => backups },
              { id: "stored", header: "Stored", cell: ({ stored_bytes }) => formatBytes(stored_bytes) },
              {
                id: "actions",
                header: "Actions",
                cell: (each) => (
                  <SpaceBetween direction="horizontal" size="s">
                    <RowButton
                      action="check_backup_location"
                      allowed={each.allowed_actions}
                      ariaLabel={`Check ${each.name}`}
                      onClick={() => check.mutate({ path: { location_id: each.id } })}
                    >
                      Check
                    </RowButton>
                    <RowButton
                      action="purge_backup_location"
                      allowed={each.allowed_actions}
                      ariaLabel={`Purge ${each.name}`}
                      onClick={() => setPurging(each)}
                    >
                      Purge
                    </RowButton>
                    <RowButton
                      action="delete_backup_location"
                      allowed={each.allowed_actions}
                      ariaLabel={`Forget ${each.name}`}
                      onClick={() => remove.mutate({ path: { location_id: each.id } })}
                    >
                      Forget
                    </RowButton>
                  </SpaceBetween>
                ),
              },
            ]}
          />
        )}
      </QueryView>
      {purging && <LocationPurgeModal location={purging} onDismiss={() => setPurging(null)} />}
      {isAdding && <BackupLocationCreateModal onDismiss={() => setIsAdding(false)} />}
    </>
  );
}

function State({ location }: { location: BackupLocation }) {
  if (location.check_operation_id) return <StatusIndicator type="in-progress">Being tried</StatusIndicator>;
  if (location.problem)
    return (
      <>
        <StatusIndicator type="error">Cannot be written</StatusIndicator>
        <Box fontSize="body-s" color="text-body-secondary">
          {location.problem} {location.problem_hint}
        </Box>
      </>
    );
  if (!location.checked_at) return <StatusIndicator type="pending">Not tried yet</StatusIndicator>;
  return (
    <>
      <StatusIndicator type="success">Can be written</StatusIndicator>
      <Box fontSize="body-s" color="text-body-secondary">
        tried <Moment at={location.checked_at} />
      </Box>
    </>
  );
}
