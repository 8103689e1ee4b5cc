import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import ContentLayout from "@cloudscape-design/components/content-layout";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { getRouteApi } from "@tanstack/react-router";
import { type Cluster, clusterQuery, type Node, nodeQuery, nodeTuningQuery, useLiveQuery } from "../api";
import { Moment } from "../components/moment";
import { NodeMenu } from "../components/node-menu";
import { QueryView } from "../components/query-view";
import { RouteLink } from "../components/route-link";
import { NodeStateBadge } from "../components/states";
import { useTitle } from "../hooks/use-title";
import { Copy } from "../ui/copy";
import { formatBytes } from "../util/size";
import { NodeDisks } from "./node-disks";
import { NodeFirstBoot } from "./node-first-boot";
import { NodeTuningReport } from "./node-tuning";

const route = getRouteApi("/console/clusters/$clusterId/nodes/$nodeId");

export function NodePage() {
  const { clusterId, nodeId } = route.useParams();
  const cluster = useLiveQuery(clusterQuery(clusterId), ({ current_operation }) => current_operation !== null);
  const node = useLiveQuery(nodeQuery(clusterId, nodeId), ({ state }) => state !== "up" && state !== "deleted");
  useTitle(node.data?.name ?? "Node", cluster.data?.name ?? "Clusters");
  return (
    <QueryView query={node} lines={8} title="Node">
      {(data) => (
        <ContentLayout
          header={
            <Header
              variant="h1"
              description={
                <>
                  <NodeStateBadge state={data.state} /> {data.state_reason}
                </>
              }
              actions={cluster.data && data.state !== "deleted" && <NodeMenu cluster={cluster.data} node={data} />}
            >
              {data.name}
            </Header>
          }
        >
          <SpaceBetween size="l">
            <Facts node={data} cluster={cluster.data} />
            <Machine clusterId={clusterId} node={data} />
          </SpaceBetween>
        </ContentLayout>
      )}
    </QueryView>
  );
}

function Facts({ node, cluster }: { node: Node; cluster: Cluster | undefined }) {
  return (
    <Container header={<Header variant="h2">Facts</Header>}>
      <KeyValuePairs
        columns={4}
        items={[
          {
            label: "Cluster",
            value: cluster && (
              <RouteLink to="/clusters/$clusterId" params={{ clusterId: cluster.id }}>
                {cluster.name}
              </RouteLink>
            ),
          },
          { label: "Data centre", value: node.datacenter },
          { label: "Zone, rack", value: node.rack },
          { label: "Address", value: node.address ? <Copy value={node.address} label="address" /> : "–" },
          { label: "Machine type", value: node.machine_type },
          { label: "Machine", value: node.machine_id ? <Copy value={node.machine_id} label="machine" /> : "–" },
          { label: "Machines so far", value: node.generation },
          { label: "Engine", value: node.engine_version || "–" },
          { label: "Agent", value: node.agent_version || "–" },
          { label: "Data", value: node.data_bytes === null ? "–" : formatBytes(node.data_bytes) },
          { label: "Disk", value: diskWords(node) },
          { label: "Host id", value: node.host_id ? <Copy value={node.host_id} label="host id" /> : "–" },
          { label: "Last seen", value: <Moment at={node.observed_at} /> },
          { label: "In the cluster since", value: <Moment at={node.created_at} /> },
          { label: "Node id", value: <Copy value={node.id} label="node id" /> },
        ]}
      />
    </Container>
  );
}

function diskWords(node: Node): string {
  if (node.disk_total_bytes === null || node.disk_free_bytes === null) return "–";
  return `${formatBytes(node.disk_free_bytes)} of ${formatBytes(node.disk_total_bytes)} free`;
}

/** What its agent told of the machine. */
function Machine({ clusterId, node }: { clusterId: string; node: Node }) {
  const tuning = useLiveQuery(
    nodeTuningQuery(clusterId, node.id),
    ({ report }) => report === null || report.first_boot?.state === "pending",
  );
  return (
    <QueryView query={tuning} lines={6}>
      {({ report, checked_at, disks }) =>
        report === null || checked_at === null ? (
          <Container header={<Header variant="h2">Tuning</Header>}>
            <Box color="text-body-secondary">Its agent has not been asked yet.</Box>
          </Container>
        ) : (
          <SpaceBetween size="l">
            <NodeFirstBoot report={report} />
            <NodeTuningReport report={report} checkedAt={checked_at} />
            <NodeDisks disks={disks} told={report.io} />
          </SpaceBetween>
        )
      }
    </QueryView>
  );
}
