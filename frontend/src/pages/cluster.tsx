import ContentLayout from "@cloudscape-design/components/content-layout";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { getRouteApi } from "@tanstack/react-router";
import { Suspense } from "react";
import { type Cluster, clusterQuery, useLiveQuery } from "../api";
import { ChangeMenu } from "../components/change-menu";
import { DeletionNotice } from "../components/deletion-request";
import { QueryView } from "../components/query-view";
import { ClusterStateBadge } from "../components/states";
import { TestDriveBadge } from "../components/test-drive-badge";
import { useTitle } from "../hooks/use-title";
import { clusterPage } from "./cluster-pages";

const route = getRouteApi("/console/clusters/$clusterId");

export function ClusterPage() {
  const { clusterId } = route.useParams();
  const { tab } = route.useSearch();
  const cluster = useLiveQuery(clusterQuery(clusterId), ({ current_operation }) => current_operation !== null);
  const where = tab === undefined || tab === "overview" ? [] : [clusterPage(tab).label];
  useTitle(...where, cluster.data?.name ?? "Cluster", "Clusters");
  return (
    <QueryView query={cluster} lines={8} title="Cluster">
      {(data) => <ClusterView cluster={data} />}
    </QueryView>
  );
}

function ClusterView({ cluster }: { cluster: Cluster }) {
  const { tab } = route.useSearch();
  const { Content } = clusterPage(tab);
  return (
    <ContentLayout
      header={
        <Header
          variant="h1"
          description={
            <SpaceBetween direction="horizontal" size="s" alignItems="center">
              <ClusterStateBadge state={cluster.state} />
              <TestDriveBadge cluster={cluster} />
            </SpaceBetween>
          }
          actions={<ChangeMenu cluster={cluster} />}
        >
          {cluster.name}
        </Header>
      }
    >
      <SpaceBetween size="l">
        <DeletionNotice targetId={cluster.id} />
        <Suspense key={tab} fallback={<StatusIndicator type="loading">Loading</StatusIndicator>}>
          <Content cluster={cluster} />
        </Suspense>
      </SpaceBetween>
    </ContentLayout>
  );
}
