import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Table from "@cloudscape-design/components/table";
import { useState } from "react";
import {
  allowlistQuery,
  type Cluster,
  type ClusterNetwork as Network,
  type NetworkConnection,
  networkConnectionsQuery,
  networkQuery,
  useLiveQuery,
} from "../api";
import { ActionButton } from "../components/action-button";
import { Moment } from "../components/moment";
import { QueryView } from "../components/query-view";
import { RouteLink } from "../components/route-link";
import { RowButton } from "../components/row-button";
import { ConnectionStateBadge } from "../components/states";
import { ConnectionCreateModal } from "../forms/connection-create";
import { ConnectionDeleteModal } from "../forms/connection-delete";
import { Copy } from "../ui/copy";

/** Where a cluster's nodes are in the network, who reaches them, and what the network is connected with. */
export function ClusterNetwork({ cluster }: { cluster: Cluster }) {
  const network = useLiveQuery(networkQuery(cluster.id), () => false);
  return (
    <QueryView query={network} lines={5}>
      {(data) => (
        <SpaceBetween size="l">
          <Networks network={data} />
          <Reached cluster={cluster} />
          <Connections cluster={cluster} network={data} />
        </SpaceBetween>
      )}
    </QueryView>
  );
}

function Networks({ network }: { network: Network }) {
  return (
    <Table
      variant="container"
      trackBy="datacenter"
      wrapLines
      items={network.datacenters}
      ariaLabels={{ tableLabel: "Networks" }}
      header={
        <Header variant="h2" description="One per data centre; each zone has its subnet, or its part of one.">
          Networks
        </Header>
      }
      empty={<Box color="inherit">The cluster has no networks any more.</Box>}
      columnDefinitions={[
        { id: "datacenter", header: "Data centre", isRowHeader: true, cell: ({ datacenter }) => datacenter },
        { id: "region", header: "Region", cell: ({ region }) => region },
        { id: "zones", header: "Zones", cell: ({ zones }) => zones.join(", ") },
        {
          id: "network",
          header: "Network",
          cell: ({ network_id, datacenter }) =>
            network_id ? <Copy value={network_id} label={`network of ${datacenter}`} /> : "–",
        },
        {
          id: "cidr",
          header: "Addresses",
          cell: ({ cidr, datacenter }) => (cidr ? <Copy value={cidr} label={`addresses of ${datacenter}`} /> : "–"),
        },
      ]}
    />
  );
}

function Reached({ cluster }: { cluster: Cluster }) {
  const allowlist = useLiveQuery(allowlistQuery(cluster.id), () => false);
  return (
    <Container
      header={
        <Header
          variant="h2"
          info={
            <RouteLink
              to="/clusters/$clusterId"
              params={{ clusterId: cluster.id }}
              search={{ tab: "access" }}
              variant="info"
            >
              Allowlist
            </RouteLink>
          }
        >
          Who reaches the database
        </Header>
      }
    >
      <QueryView query={allowlist} lines={1}>
        {({ effect, entries }) => (
          <SpaceBetween size="xs">
            <div>{effect}</div>
            {entries.length > 0 && <Box color="text-body-secondary">{entries.map(({ cidr }) => cidr).join(", ")}</Box>}
          </SpaceBetween>
        )}
      </QueryView>
    </Container>
  );
}

function Connections({ cluster, network }: { cluster: Cluster; network: Network }) {
  const [isCreating, setIsCreating] = useState(false);
  const [deleting, setDeleting] = useState<NetworkConnection | null>(null);
  const connections = useLiveQuery(networkConnectionsQuery(cluster.id), ({ items }) =>
    items.some(({ state }) => state !== "active"),
  );
  return (
    <>
      <QueryView query={connections}>
        {({ items }) => (
          <SpaceBetween size="s">
            {items
              .filter(({ state, message }) => state === "waiting_for_you" && message)
              .map((each) => (
                <ToDo key={each.id} connection={each} network={network} />
              ))}
            <Table
              variant="container"
              trackBy="id"
              wrapLines
              items={items}
              ariaLabels={{ tableLabel: "Peerings and endpoints" }}
              header={
                <Header
                  variant="h2"
                  counter={`(${items.length})`}
                  actions={
                    <ActionButton
                      action="create_network_connection"
                      allowed={network.allowed_actions}
                      variant="primary"
                      onClick={() => setIsCreating(true)}
                    >
                      Connect
                    </ActionButton>
                  }
                >
                  Peerings and endpoints
                </Header>
              }
              empty={
                <Box color="inherit">
                  {network.connection_kinds.length > 0
                    ? "The network is connected with no other."
                    : "Networks of this provider have no connections to others."}
                </Box>
              }
              columnDefinitions={[
                { id: "name", header: "Name", isRowHeader: true, cell: ({ name }) => name },
                { id: "kind", header: "Kind", cell: ({ kind }) => (kind === "peering" ? "Peering" : "Endpoint") },
                { id: "other", header: "With", minWidth: 200, cell: (each) => <Other connection={each} /> },
                { id: "state", header: "State", minWidth: 220, cell: (each) => <State connection={each} /> },
                { id: "datacenter", header: "Data centre", cell: ({ datacenter }) => datacenter },
                {
                  id: "actions",
                  header: "Actions",
                  cell: (each) => (
                    <RowButton
                      action="delete_network_connection"
                      allowed={each.allowed_actions}
                      ariaLabel={`Delete ${each.name}`}
                      onClick={() => setDeleting(each)}
                    >
                      Delete
                    </RowButton>
                  ),
                },
              ]}
            />
          </SpaceBetween>
        )}
      </QueryView>
      {isCreating && (
        <ConnectionCreateModal cluster={cluster} network={network} onDismiss={() => setIsCreating(false)} />
      )}
      {deleting && (
        <ConnectionDeleteModal cluster={cluster} connection={deleting} onDismiss={() => setDeleting(null)} />
      )}
    </>
  );
}

/** What somebody at the other end has to do, with what they need for it. */
function ToDo({ connection, network }: { connection: NetworkConnection; network: Network }) {
  const ours = network.datacenters.find(({ datacenter }) => datacenter === connection.datacenter);
  return (
    <Alert type="warning" statusIconAriaLabel="Warning" header={`${connection.name} waits for you`}>
      <SpaceBetween size="xs">
        <div>{connection.message}</div>
        {connection.provider_id && <Copy value={connection.provider_id} label={`id of ${connection.name}`} />}
        {connection.kind === "peering" && ours?.cidr && (
          <div>
            Route these addresses to it: <Copy value={ours.cidr} label={`addresses behind ${connection.name}`} />
          </div>
        )}
      </SpaceBetween>
    </Alert>
  );
}

function Other({ connection }: { connection: NetworkConnection }) {
  if (connection.kind === "endpoint")
    return <Copy value={connection.service} label={`service of ${connection.name}`} />;
  const where = [connection.peer_network, connection.peer_owner, connection.peer_region].filter(Boolean).join(", ");
  return (
    <>
      {where}
      <Box fontSize="body-s" color="text-body-secondary">
        clients from {connection.cidrs.join(", ")}
      </Box>
    </>
  );
}

function State({ connection }: { connection: NetworkConnection }) {
  return (
    <>
      <ConnectionStateBadge state={connection.state} />
      {connection.state === "failed" && (
        <Box fontSize="body-s" color="text-body-secondary">
          {connection.message}
        </Box>
      )}
      {connection.addresses.map((address) => (
        <div key={address}>
          <Copy value={address} label={`address of ${connection.name}`} />
        </div>
      ))}
      {connection.checked_at && (
        <Box fontSize="body-s" color="text-body-secondary">
          asked <Moment at={connection.checked_at} />
        </Box>
      )}
    </>
  );
}
