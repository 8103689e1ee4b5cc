import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Table, { type TableProps } from "@cloudscape-design/components/table";
import type { FiringAlert, FiringAlerts } from "../api";
import { useNow } from "../hooks/use-now";
import { AlertSubject, LookLink, SeverityBadge } from "./alert-parts";
import { Moment } from "./moment";
import { RouteLink } from "./route-link";
import { RowButton } from "./row-button";

/** What fires now, the worst first. `withCluster`: of several clusters. */
export function FiringTable({
  firing,
  withCluster = false,
  onSilence,
}: {
  firing: FiringAlerts;
  withCluster?: boolean;
  onSilence: (alert: FiringAlert) => void;
}) {
  const now = useNow(30_000);
  const { items, total, allowed_actions } = firing;
  const cluster: TableProps.ColumnDefinition<FiringAlert>[] = withCluster
    ? [
        {
          id: "cluster",
          header: "Cluster",
          minWidth: 120,
          cell: ({ cluster_id, cluster_name }) => (
            <RouteLink to="/clusters/$clusterId" params={{ clusterId: cluster_id }} search={{ tab: "alerts" }}>
              {cluster_name}
            </RouteLink>
          ),
        },
      ]
    : [];
  return (
    <Table
      variant="container"
      trackBy="fingerprint"
      wrapLines
      items={items}
      ariaLabels={{ tableLabel: "Firing now" }}
      header={
        <Header
          variant="h2"
          counter={`(${total})`}
          description={total > items.length ? `The ${items.length} most severe are shown.` : undefined}
        >
          Firing now
        </Header>
      }
      empty={<StatusIndicator type="success">Nothing fires.</StatusIndicator>}
      columnDefinitions={[
        {
          id: "severity",
          header: "Severity",
          width: 130,
          cell: (alert) => (
            <>
              <SeverityBadge severity={alert.severity} />
              <Quiet alert={alert} />
            </>
          ),
        },
        {
          id: "sentence",
          header: "Alert",
          isRowHeader: true,
          minWidth: 240,
          cell: ({ sentence, hint }) => (
            <>
              {sentence}
              <Box fontSize="body-s" color="text-body-secondary">
                {hint}
              </Box>
            </>
          ),
        },
        ...cluster,
        {
          id: "about",
          header: "About",
          minWidth: 160,
          cell: (alert) => (
            <AlertSubject
              clusterId={alert.cluster_id}
              nodeId={alert.node_id}
              nodeName={alert.node_name}
              keyspace={alert.keyspace}
              table={alert.table}
            />
          ),
        },
        { id: "since", header: "For", minWidth: 90, cell: ({ starts_at }) => <Moment at={starts_at} now={now} /> },
        {
          id: "actions",
          header: "Actions",
          minWidth: 175,
          cell: (alert) => (
            <SpaceBetween direction="horizontal" size="s">
              <LookLink clusterId={alert.cluster_id} rule={alert.rule} title={alert.sentence} />
              <RowButton
                action="create_alert_silence"
                allowed={allowed_actions}
                ariaLabel={`Silence: ${alert.sentence}`}
                onClick={() => onSilence(alert)}
              >
                Silence …
              </RowButton>
            </SpaceBetween>
          ),
        },
      ]}
    />
  );
}

/** Why nobody is told of it. */
function Quiet({ alert }: { alert: FiringAlert }) {
  if (alert.silenced_by.length === 0 && !alert.inhibited) return null;
  return (
    <Box fontSize="body-s" color="text-body-secondary">
      {alert.silenced_by.length > 0 ? "Silenced" : "Another alert says it"}
    </Box>
  );
}
