import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  type Cluster,
  editableWindows,
  type MaintenanceWindows,
  maintenanceWindowsQuery,
  refresh,
  toApiError,
} from "../api";
import { ActionButton } from "../components/action-button";
import { ChangedMeanwhile } from "../components/changed-meanwhile";
import { ErrorBox } from "../components/error-box";
import { Moment } from "../components/moment";
import { OpeningsCalendar } from "../components/openings-calendar";
import { QueryView } from "../components/query-view";
import { useEdit } from "../hooks/use-edit";
import { useNow } from "../hooks/use-now";
import { toast } from "../hooks/use-toasts";
import { WindowsEditor } from "./windows-editor";

/** When automatic work that can wait may be done. */
export function ClusterWindowsForm({ cluster }: { cluster: Cluster }) {
  const windows = useQuery(maintenanceWindowsQuery(cluster.id));
  return (
    <QueryView query={windows} lines={3}>
      {(data) => <Windows cluster={cluster} saved={data} />}
    </QueryView>
  );
}

function Windows({ cluster, saved }: { cluster: Cluster; saved: MaintenanceWindows }) {
  const now = useNow(60_000);
  const [windows, setWindows] = useState(saved.windows);
  const edit = useEdit({
    editable: editableWindows(cluster.id),
    opened: saved,
    edited: (found) => found.windows,
    onSuccess: () => {
      toast({ type: "success", content: "Saved." });
      return refresh();
    },
  });
  const error = edit.error ? toApiError(edit.error, undefined) : undefined;
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
              loading={edit.isPending}
              onClick={() => edit.save({ windows })}
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
        <ChangedMeanwhile
          edit={edit}
          words={wordsOf}
          onLoad={(now) => {
            setWindows(now.windows);
            edit.load();
          }}
          onSaveOver={() => edit.saveOver({ windows })}
        />
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

const wordsOf = ({ windows }: MaintenanceWindows) => ({
  Windows: windows
    .map(({ weekdays, starts_at, minutes, time_zone, excluded_dates }) => {
      const without = excluded_dates?.length ? ` without ${excluded_dates.join(", ")}` : "";
      return `${weekdays.join(", ")} ${starts_at} ${time_zone} for ${minutes} min${without}`;
    })
    .join("; "),
});
