import ContentLayout from "@cloudscape-design/components/content-layout";
import Header from "@cloudscape-design/components/header";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Tabs from "@cloudscape-design/components/tabs";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { type Cluster, clusterQuery, useLiveQuery } from "../api";
import { ActionButton } from "../components/action-button";
import { QueryView } from "../components/query-view";
import { ClusterStateBadge } from "../components/states";
import { ClusterDeleteModal } from "../forms/cluster-delete";
import { useTitle } from "../hooks/use-title";
import { ClusterActivity } from "./cluster-activity";
import { ClusterOverview } from "./cluster-overview";

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
  const [isDeleting, setIsDeleting] = useState(false);

  return (
    <ContentLayout
      header={
        <Header
          variant="h1"
          description={<ClusterStateBadge state={cluster.state} />}
          actions={
            <ActionButton action="delete_cluster" allowed={cluster.allowed_actions} onClick={() => setIsDeleting(true)}>
              Delete cluster
            </ActionButton>
          }
        >
          {cluster.name}
        </Header>
      }
    >
      <Tabs
        ariaLabel={`Cluster ${cluster.name}`}
        activeTabId={tab}
        onChange={({ detail }) =>
          void navigate({ search: { tab: detail.activeTabId as "overview" | "connect" | "activity" }, replace: true })
        }
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
          { id: "activity", label: "Activity", content: <ClusterActivity cluster={cluster} /> },
        ]}
      />
      {isDeleting && <ClusterDeleteModal cluster={cluster} onDismiss={() => setIsDeleting(false)} />}
    </ContentLayout>
  );
}
