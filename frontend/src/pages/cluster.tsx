import ContentLayout from "@cloudscape-design/components/content-layout";
import Header from "@cloudscape-design/components/header";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Tabs from "@cloudscape-design/components/tabs";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { type Cluster, clusterQuery, useLiveQuery } from "../api";
import { ChangeMenu } from "../components/change-menu";
import { QueryView } from "../components/query-view";
import { ClusterStateBadge } from "../components/states";
import { useTitle } from "../hooks/use-title";
import type { ClusterTab } from "../util/cluster-tabs";
import { ClusterAccess } from "./cluster-access";
import { ClusterActivity } from "./cluster-activity";
import { ClusterBackups } from "./cluster-backups";
import { ClusterNetwork } from "./cluster-network";
import { ClusterOverview } from "./cluster-overview";
import { ClusterProtection } from "./cluster-protection";
import { ClusterRepairs } from "./cluster-repairs";
import { ClusterSettings } from "./cluster-settings";

const route = getRouteApi("/console/clusters/$clusterId");

// Syntax colours weigh more than the rest of the page.
const ClusterConnect = lazy(() => import("./cluster-connect").then((page) => ({ default: page.ClusterConnect })));

export function ClusterPage() {
  const { clusterId } = route.useParams();
  const cluster = useLiveQuery(clusterQuery(clusterId), ({ current_operation }) => current_operation !== null);
  useTitle(cluster.data?.name ?? "Cluster", "Clusters");
  return (
    <QueryView query={cluster} lines={8} title="Cluster">
      {(data) => <ClusterView cluster={data} />}
    </QueryView>
  );
}

function ClusterView({ cluster }: { cluster: Cluster }) {
  const { tab = "overview" } = route.useSearch();
  const navigate = route.useNavigate();

  return (
    <ContentLayout
      header={
        <Header
          variant="h1"
          description={<ClusterStateBadge state={cluster.state} />}
          actions={<ChangeMenu cluster={cluster} />}
        >
          {cluster.name}
        </Header>
      }
    >
      <Tabs
        ariaLabel={`Cluster ${cluster.name}`}
        activeTabId={tab}
        onChange={({ detail }) => void navigate({ search: { tab: detail.activeTabId as ClusterTab }, replace: true })}
        tabs={[
          { id: "overview", label: "Overview", content: <ClusterOverview cluster={cluster} /> },
          {
            id: "connect",
            label: "Connect",
            content: (
              <Suspense fallback={<StatusIndicator type="loading">Loading</StatusIndicator>}>
                <ClusterConnect cluster={cluster} />
              </Suspense>
            ),
          },
          { id: "settings", label: "Engine settings", content: <ClusterSettings cluster={cluster} /> },
          { id: "access", label: "Access", content: <ClusterAccess cluster={cluster} /> },
          { id: "network", label: "Network", content: <ClusterNetwork cluster={cluster} /> },
          { id: "backups", label: "Backups", content: <ClusterBackups cluster={cluster} /> },
          { id: "repairs", label: "Repairs", content: <ClusterRepairs cluster={cluster} /> },
          { id: "protection", label: "Protection", content: <ClusterProtection cluster={cluster} /> },
          { id: "activity", label: "Activity", content: <ClusterActivity cluster={cluster} /> },
        ]}
      />
    </ContentLayout>
  );
}
