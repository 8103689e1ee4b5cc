import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  type Cluster,
  type MaintenanceWindows,
  maintenanceWindowsQuery,
  refresh,
  setMaintenanceWindowsMutation,
  toApiError,
} from "../api";
import { ActionButton } from "../components/action-button";
import { ErrorBox } from "../components/error-box";
import { Moment } from "../components/moment";
import { OpeningsCalendar } from "../components/openings-calendar";
import { QueryView } from "../components/query-view";
import { useNow } from "../hooks/use-now";
import { toast } from "../hooks/use-toasts";
import { WindowsEditor } from "./windows-editor";

/** When automatic work that can wait may be done. */
export function ClusterWindowsForm({ cluster }: { cluster: Cluster }) {
  const windows = useQuery(maintenanceWindowsQuery(cluster.id));
  return (
    <QueryView query={windows} lines={3}>
      {(data) => <Windows key={JSON.stringify(data.windows)} cluster={cluster} saved={data} />}
    </QueryView>
  );
}

function Windows({ cluster, saved }: { cluster: Cluster; saved: MaintenanceWindows }) {
  const now = useNow(60_000);
  const [windows, setWindows] = useState(saved.windows);
  const save = useMutation({
    ...setMaintenanceWindowsMutation(),
    onSuccess: () => {
      toast({ type: "success", content: "Saved." });
      return refresh();
    },
  });
  const error = save.isError ? toApiError(save.error, undefined) : undefined;
  return (
    <Container
      header={
        <Header
          variant="h2"
          description="Work that can wait, such as renewing certificates, is begun only then. Broken nodes are mended at any time."
          actions={
            <ActionButton
              ariaLabel="Save maintenance windows"
              action="update_cluster"
              allowed={cluster.allowed_actions}
              loading={save.isPending}
              onClick={() => save.mutate({ path: { cluster_id: cluster.id }, body: { windows } })}
            >
              Save
            </ActionButton>
          }
        >
          Maintenance windows
        </Header>
      }
    >
      <SpaceBetween size="l">
        {error && <ErrorBox error={error} />}
        {windows.length === 0 ? (
          <Box color="text-body-secondary">No windows: automatic work may be done at any time.</Box>
        ) : (
          <Box color="text-body-secondary">
            {saved.open_now ? (
              "A window is open now."
            ) : (
              <>
                The next one opens: <Moment at={saved.next_opening} />
              </>
            )}
          </Box>
        )}
        <OpeningsCalendar openings={saved.openings} now={now} />
        <WindowsEditor windows={windows} error={error} onChange={setWindows} />
      </SpaceBetween>
    </Container>
  );
}
