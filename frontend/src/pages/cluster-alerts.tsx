import SpaceBetween from "@cloudscape-design/components/space-between";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  alertRulesQuery,
  alertSilencesQuery,
  type Cluster,
  clusterFiringAlertsQuery,
  clusterNodesQuery,
  type FiringAlert,
  useLiveQuery,
} from "../api";
import { AlertHistory } from "../components/alert-history";
import { AlertRules } from "../components/alert-rules";
import { AlertSilences } from "../components/alert-silences";
import { ErrorBox } from "../components/error-box";
import { FiringTable } from "../components/firing-alerts";
import { QueryView } from "../components/query-view";
import { SilenceCreateModal } from "../forms/silence-create";

/** What fires in a cluster, by which rules, what of it is silenced, and what has fired. */
export function ClusterAlerts({ cluster }: { cluster: Cluster }) {
  const firing = useQuery(clusterFiringAlertsQuery(cluster.id));
  const silences = useQuery(alertSilencesQuery(cluster.id));
  const rules = useLiveQuery(alertRulesQuery(cluster.id), () => false);
  const nodes = useQuery(clusterNodesQuery(cluster.id));
  const [silencing, setSilencing] = useState<FiringAlert | "any" | null>(null);
  const nodeNames = new Map(nodes.data?.items.map(({ id, name }) => [id, name]));
  // Both are Alertmanager's: when it is away that is said once.
  const isAway = firing.isError && firing.data === undefined;
  return (
    <SpaceBetween size="l">
      {isAway ? (
        <ErrorBox
          header="What fires now, and what is silenced, is not known"
          error={firing.error}
          onRetry={() => void firing.refetch()}
        />
      ) : (
        <QueryView query={firing} lines={4}>
          {(data) => <FiringTable firing={data} onSilence={setSilencing} />}
        </QueryView>
      )}
      {!isAway && (
        <QueryView query={silences} lines={2}>
          {({ items }) => (
            <AlertSilences
              cluster={cluster}
              silences={items}
              nodeNames={nodeNames}
              onCreate={() => setSilencing("any")}
            />
          )}
        </QueryView>
      )}
      <QueryView query={rules} lines={8}>
        {(data) => <AlertRules cluster={cluster} rules={data} />}
      </QueryView>
      <AlertHistory cluster={cluster} nodeNames={nodeNames} />
      {silencing !== null && (
        <SilenceCreateModal
          clusterId={cluster.id}
          alert={silencing === "any" ? undefined : silencing}
          onDismiss={() => setSilencing(null)}
        />
      )}
    </SpaceBetween>
  );
}
