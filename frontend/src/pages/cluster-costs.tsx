import SpaceBetween from "@cloudscape-design/components/space-between";
import { getRouteApi } from "@tanstack/react-router";
import type { Cluster } from "../api";
import { CostOutlook } from "../components/cost-outlook";
import { CostReport } from "../components/cost-report";

const route = getRouteApi("/console/clusters/$clusterId");

/** What a cluster cost, and which of its tables is to blame. */
export function ClusterCosts({ cluster }: { cluster: Cluster }) {
  const navigate = route.useNavigate();
  const { spent = "month", after } = route.useSearch();
  return (
    <SpaceBetween size="l">
      <CostOutlook clusterId={cluster.id} />
      <CostReport
        clusterId={cluster.id}
        group="table"
        range={spent}
        onRange={(range) => void navigate({ search: { tab: "costs", spent: range }, resetScroll: false })}
        cursors={after}
        onCursors={(cursors) => void navigate({ search: { tab: "costs", spent, after: cursors }, resetScroll: false })}
      />
    </SpaceBetween>
  );
}
