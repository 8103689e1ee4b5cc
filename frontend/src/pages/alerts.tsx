import ContentLayout from "@cloudscape-design/components/content-layout";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { alertReceiversQuery, type FiringAlert, firingAlertsQuery } from "../api";
import { AlertReceivers } from "../components/alert-receivers";
import { DeliveryLog } from "../components/delivery-log";
import { FiringTable } from "../components/firing-alerts";
import { QueryView } from "../components/query-view";
import { SilenceCreateModal } from "../forms/silence-create";
import { useTitle } from "../hooks/use-title";
import { lastCursor } from "../util/search";

const route = getRouteApi("/console/alerts");

/** Everything that fires in the organisation, who is told, and how telling went. */
export function AlertsPage() {
  useTitle("Alerts");
  const navigate = route.useNavigate();
  const { after, receiver, sent } = route.useSearch();
  const firing = useQuery(firingAlertsQuery());
  const receivers = useQuery(alertReceiversQuery(lastCursor(after)));
  const [silencing, setSilencing] = useState<FiringAlert | null>(null);
  const shown = receivers.data?.items.find(({ id }) => id === receiver);
  return (
    <ContentLayout
      header={
        <Header variant="h1" description="Rules and silences are set for each cluster, on its page Alerts.">
          Alerts
        </Header>
      }
    >
      <SpaceBetween size="l">
        <QueryView query={firing} lines={4}>
          {(data) => <FiringTable withCluster firing={data} onSilence={setSilencing} />}
        </QueryView>
        <AlertReceivers
          cursors={after}
          onCursors={(cursors) => void navigate({ search: { after: cursors } })}
          onLog={({ id }) => void navigate({ search: { after, receiver: id }, resetScroll: false })}
        />
        {shown && (
          <DeliveryLog
            key={shown.id}
            receiver={shown}
            cursors={sent}
            onCursors={(cursors) =>
              void navigate({ search: { after, receiver: shown.id, sent: cursors }, resetScroll: false })
            }
          />
        )}
      </SpaceBetween>
      {silencing && (
        <SilenceCreateModal clusterId={silencing.cluster_id} alert={silencing} onDismiss={() => setSilencing(null)} />
      )}
    </ContentLayout>
  );
}
