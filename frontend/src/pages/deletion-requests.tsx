import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import type { TableProps } from "@cloudscape-design/components/table";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { accessSettingsQuery, type DeletionRequest, deletionRequestsQuery, useMay, useSession } from "../api";
import { DELETION_TARGET, DeletionButtons } from "../components/deletion-request";
import { Moment } from "../components/moment";
import { RouteLink } from "../components/route-link";
import { TwoPersonDeletesModal } from "../forms/two-person-deletes";
import { useNow } from "../hooks/use-now";
import { useTitle } from "../hooks/use-title";
import { CursorTable } from "../table/cursor-table";
import { lastCursor } from "../util/search";

const route = getRouteApi("/console/deletion-requests");

export function DeletionRequestsPage() {
  useTitle("Deletion requests");
  const navigate = route.useNavigate();
  const { after } = route.useSearch();
  const requests = useQuery(deletionRequestsQuery(lastCursor(after)));
  const settings = useQuery(accessSettingsQuery());
  const { organisation } = useSession();
  const maySet = useMay("members:write");
  const now = useNow(30_000);
  const [isSetting, setIsSetting] = useState(false);
  const isOn = settings.data?.deletes_need_two ?? false;

  return (
    <>
      <CursorTable
        noun="deletion requests"
        page={requests}
        columns={columns(now)}
        cursors={after}
        onCursors={(cursors) => void navigate({ search: { after: cursors } })}
        header={
          <Header
            variant="h1"
            description={
              isOn
                ? "Clusters and backups are deleted when a second person has confirmed it."
                : "One person is enough to delete clusters and backups."
            }
            actions={
              <Button
                disabled={!maySet || !settings.data}
                disabledReason={maySet ? undefined : "Your role may not change settings of the organisation."}
                onClick={() => setIsSetting(true)}
              >
                {isOn ? "Let one person delete" : "Have two people delete"}
              </Button>
            }
          >
            Deletion requests
          </Header>
        }
        empty={<Box color="inherit">Nobody asked for a delete.</Box>}
      />
      {isSetting && settings.data && organisation && (
        <TwoPersonDeletesModal
          settings={settings.data}
          organisationId={organisation.id}
          onDismiss={() => setIsSetting(false)}
        />
      )}
    </>
  );
}

const STATE: Record<DeletionRequest["state"], [StatusIndicatorProps.Type, string]> = {
  pending: ["pending", "Waits"],
  confirmed: ["warning", "Confirmed"],
  done: ["success", "Done"],
  withdrawn: ["stopped", "Withdrawn"],
  expired: ["stopped", "Expired"],
};

function columns(now: number): TableProps.ColumnDefinition<DeletionRequest>[] {
  return [
    {
      id: "what",
      header: "What",
      isRowHeader: true,
      minWidth: 180,
      cell: ({ target_type, target_id, target_name }) => {
        const text = DELETION_TARGET[target_type](target_name);
        return target_type === "cluster" ? (
          <RouteLink to="/clusters/$clusterId" params={{ clusterId: target_id }}>
            {text}
          </RouteLink>
        ) : (
          text
        );
      },
    },
    {
      id: "state",
      header: "State",
      minWidth: 120,
      cell: ({ state }) => (
        <StatusIndicator type={STATE[state][0]} wrapText={false}>
          {STATE[state][1]}
        </StatusIndicator>
      ),
    },
    { id: "by", header: "Asked by", maxWidth: 190, cell: ({ requested_by }) => requested_by },
    { id: "at", header: "Asked", cell: ({ created_at }) => <Moment at={created_at} now={now} /> },
    { id: "second", header: "Confirmed by", maxWidth: 190, cell: ({ confirmed_by }) => confirmed_by ?? "–" },
    { id: "expires", header: "Ends", cell: ({ expires_at }) => <Moment at={expires_at} now={now} /> },
    { id: "actions", header: "Actions", minWidth: 170, cell: (request) => <DeletionButtons request={request} /> },
  ];
}
