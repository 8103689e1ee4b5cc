import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Table from "@cloudscape-design/components/table";
import { type Cluster, clusterNodesQuery, type Node, operationQuery, useLiveQuery } from "../api";
import { Moment } from "../components/moment";
import { NodeMenu } from "../components/node-menu";
import { OperationActions } from "../components/operation-actions";
import { OperationSteps, OperationSummary } from "../components/operation-progress";
import { QueryView } from "../components/query-view";
import { RouteLink } from "../components/route-link";
import { NodeStateBadge } from "../components/states";
import { Copy } from "../ui/copy";
import { formatBytes } from "../util/size";

export function ClusterOverview({ cluster }: { cluster: Cluster }) {
  return (
    <SpaceBetween size="l">
      {cluster.current_operation && <CurrentOperation id={cluster.current_operation.id} />}
      <Facts cluster={cluster} />
      <Nodes cluster={cluster} />
    </SpaceBetween>
  );
}

function CurrentOperation({ id }: { id: string }) {
  const operation = useLiveQuery(operationQuery(id), ({ finished_at }) => finished_at === null);
  return (
    <QueryView query={operation} lines={3}>
      {(data) => (
        <Container
          header={
            <Header
              variant="h2"
              actions={<OperationActions operation={data} />}
              info={
                <RouteLink to="/operations/$operationId" params={{ operationId: id }} variant="info">
                  Details
                </RouteLink>
              }
            >
              In progress
            </Header>
          }
        >
          <SpaceBetween size="l">
            <OperationSummary operation={data} />
            <OperationSteps operation={data} />
          </SpaceBetween>
        </Container>
      )}
    </QueryView>
  );
}

function Facts({ cluster }: { cluster: Cluster }) {
  const tags = Object.entries(cluster.options.tags ?? {});
  return (
    <Container header={<Header variant="h2">Facts</Header>}>
      <KeyValuePairs
        columns={4}
        items={[
          { label: "Engine", value: `${cluster.engine} ${cluster.engine_version}` },
          { label: "Provider", value: cluster.provider },
          ...(cluster.cloud_account
            ? [
                {
                  label: "Cloud account",
                  value: (
                    <RouteLink to="/cloud-accounts/$accountId" params={{ accountId: cluster.cloud_account.id }}>
                      {cluster.cloud_account.name}
                    </RouteLink>
                  ),
                },
              ]
            : []),
          {
            label: "Data centres",
            value: cluster.datacenters.map(({ name, zones }) => `${name}: ${zones.join(", ")}`).join("; "),
          },
          {
            label: "Machine type",
            value: [...new Set(cluster.datacenters.map(({ machine_type }) => machine_type))].join(", "),
          },
          ...(cluster.image_build ? [{ label: "Pinned to image build", value: cluster.image_build }] : []),
          { label: "Nodes up", value: `${cluster.nodes_up} of ${cluster.nodes_total}` },
          { label: "Ordered", value: <Moment at={cluster.created_at} /> },
          { label: "Active since", value: <Moment at={cluster.active_at} /> },
          { label: "Ordered by", value: cluster.created_by },
          { label: "Cluster id", value: <Copy value={cluster.id} label="cluster id" /> },
          ...(tags.length > 0
            ? [{ label: "Tags", value: tags.map(([key, value]) => `${key}: ${value}`).join(", ") }]
            : []),
        ]}
      />
    </Container>
  );
}

function Nodes({ cluster }: { cluster: Cluster }) {
  const nodes = useLiveQuery(clusterNodesQuery(cluster.id), () => cluster.current_operation !== null);
  return (
    <QueryView query={nodes}>
      {({ items }) => {
        if (items.length === 0) {
          return (
            <Container header={<Header variant="h2">Nodes</Header>}>
              <Box color="text-body-secondary">This cluster has no nodes.</Box>
            </Container>
          );
        }
        return (
          <SpaceBetween size="l">
            {cluster.datacenters
              .flatMap(({ zones }) => zones)
              .map((zone) => (
                <ZoneNodes
                  key={zone}
                  cluster={cluster}
                  zone={zone}
                  nodes={items.filter((node) => node.zone === zone)}
                />
              ))}
          </SpaceBetween>
        );
      }}
    </QueryView>
  );
}

function ZoneNodes({ cluster, zone, nodes }: { cluster: Cluster; zone: string; nodes: Node[] }) {
  const up = nodes.filter(({ state }) => state === "up").length;
  return (
    <Table
      variant="container"
      trackBy="id"
      wrapLines
      items={nodes}
      ariaLabels={{ tableLabel: `Nodes in ${zone}` }}
      header={
        <Header variant="h2" counter={`(${up} of ${nodes.length} up)`}>
          {zone}
        </Header>
      }
      empty={<Box color="inherit">No nodes in this zone.</Box>}
      columnDefinitions={[
        { id: "name", header: "Node", isRowHeader: true, cell: (node) => <NodeLink cluster={cluster} node={node} /> },
        { id: "state", header: "State", cell: (node) => <NodeState node={node} /> },
        { id: "address", header: "Address", cell: ({ address }) => address ?? "–" },
        { id: "type", header: "Machine type", cell: ({ machine_type }) => machine_type },
        { id: "version", header: "Engine, image", cell: (node) => <Software node={node} /> },
        {
          id: "data",
          header: "Data",
          cell: ({ data_bytes }) => (
            <span className="nowrap">{data_bytes === null ? "–" : formatBytes(data_bytes)}</span>
          ),
        },
        { id: "disk", header: "Disk used", cell: (node) => <DiskUse node={node} /> },
        { id: "host", header: "Host id", cell: (node) => <HostId node={node} /> },
        { id: "actions", header: "Actions", cell: (node) => <NodeMenu cluster={cluster} node={node} /> },
      ]}
    />
  );
}

function NodeLink({ cluster, node }: { cluster: Cluster; node: Node }) {
  return (
    <RouteLink to="/clusters/$clusterId/nodes/$nodeId" params={{ clusterId: cluster.id, nodeId: node.id }}>
      {node.name}
    </RouteLink>
  );
}

function NodeState({ node }: { node: Node }) {
  return (
    <>
      <NodeStateBadge state={node.state} />
      {node.is_seed && (
        <Box variant="span" color="text-body-secondary" fontSize="body-s" margin={{ left: "xs" }}>
          seed
        </Box>
      )}
      {node.state_reason && (
        <Box fontSize="body-s" color="text-body-secondary">
          {node.state_reason}
        </Box>
      )}
    </>
  );
}

/** The version that runs, and the image that the machine was made from, which it may have outgrown since. */
function Software({ node }: { node: Node }) {
  return (
    <>
      {node.engine_version || "–"}
      {node.image && (
        <Box fontSize="body-s" color="text-body-secondary">
          {node.image.split("/").at(-1)}
        </Box>
      )}
    </>
  );
}

/** How full the disk is; what must not be overlooked says so. */
function DiskUse({ node }: { node: Node }) {
  if (node.disk_total_bytes === null || node.disk_free_bytes === null) return <>–</>;
  const share = 1 - node.disk_free_bytes / node.disk_total_bytes;
  const words = `${Math.round(share * 100)} %`;
  return share < FULL ? words : <StatusIndicator type="warning">{words}</StatusIndicator>;
}

// From here on the control plane warns as well (docs/healing.md).
const FULL = 0.7;

function HostId({ node }: { node: Node }) {
  if (!node.host_id) return <>–</>;
  return (
    <span className="nowrap">
      <Copy value={node.host_id} label={`host id of ${node.name}`} shown={node.host_id.slice(0, 8)} />
    </span>
  );
}
