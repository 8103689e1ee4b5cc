import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import PropertyFilter, { type PropertyFilterProps } from "@cloudscape-design/components/property-filter";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { TableProps } from "@cloudscape-design/components/table";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import {
  type Catalog,
  type Cluster,
  catalogQuery,
  clustersQuery,
  type FiringAlerts,
  firingAlertsQuery,
  useLiveQuery,
  useMay,
} from "../api";
import { FiringBadge } from "../components/firing-badge";
import { Moment } from "../components/moment";
import { RouteLink } from "../components/route-link";
import { CLUSTER_STATE_OPTIONS, ClusterStateBadge } from "../components/states";
import { TestDriveBadge } from "../components/test-drive-badge";
import { useNow } from "../hooks/use-now";
import { useTitle } from "../hooks/use-title";
import { CursorTable } from "../table/cursor-table";
import { firingWords } from "../util/alert-counts";
import { type ClusterFilters, filtersFromTokens, tokensFromFilters } from "../util/cluster-filters";
import { lastCursor } from "../util/search";

const route = getRouteApi("/console/clusters");

export function ClustersPage() {
  useTitle("Clusters");
  const navigate = route.useNavigate();
  const { after, ...filters } = route.useSearch();
  const clusters = useLiveQuery(clustersQuery({ ...filters, cursor: lastCursor(after) }), (page) =>
    page.items.some((cluster) => cluster.current_operation !== null),
  );
  const catalog = useQuery(catalogQuery());
  const firing = useQuery(firingAlertsQuery());
  const now = useNow(30_000);
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const setFilters = (next: ClusterFilters) => void navigate({ search: next, replace: true });

  return (
    <CursorTable
      noun="clusters"
      page={clusters}
      columns={columns(now, firing.data)}
      cursors={after}
      onCursors={(cursors) => void navigate({ search: { ...filters, after: cursors } })}
      header={
        <Header variant="h1" actions={<OrderButton variant="primary">Order cluster</OrderButton>}>
          Clusters
        </Header>
      }
      filter={<Filter filters={filters} catalog={catalog.data} onChange={setFilters} />}
      empty={
        isFiltered ? (
          <SpaceBetween size="m" alignItems="center">
            <Box color="inherit">No cluster matches.</Box>
            <Button onClick={() => setFilters({})}>Clear filters</Button>
          </SpaceBetween>
        ) : (
          <Box padding="l">
            <SpaceBetween size="m" alignItems="center">
              <Box variant="h2">No clusters yet</Box>
              <Box color="inherit">A cluster over three zones takes well under a minute.</Box>
              <OrderButton>Order your first cluster</OrderButton>
            </SpaceBetween>
          </Box>
        )
      }
    />
  );
}

function OrderButton({ variant, children }: { variant?: "primary"; children: string }) {
  const router = useRouter();
  const mayOrder = useMay("clusters:write");
  return (
    <Button
      variant={variant}
      href={mayOrder ? "/clusters/new" : undefined}
      disabled={!mayOrder}
      disabledReason={mayOrder ? undefined : "Your role may look at clusters but not order them."}
      onFollow={(event) => {
        event.preventDefault();
        void router.navigate({ to: "/clusters/new" });
      }}
    >
      {children}
    </Button>
  );
}

function columns(now: number, firing: FiringAlerts | undefined): TableProps.ColumnDefinition<Cluster>[] {
  return [
    {
      id: "name",
      header: "Name",
      isRowHeader: true,
      cell: ({ id, name }) => (
        <RouteLink to="/clusters/$clusterId" params={{ clusterId: id }}>
          {name}
        </RouteLink>
      ),
    },
    { id: "state", header: "State", cell: (cluster) => <State cluster={cluster} /> },
    { id: "alerts", header: "Alerts", cell: ({ id }) => <Alerts clusterId={id} firing={firing} /> },
    { id: "engine", header: "Engine", cell: ({ engine, engine_version }) => `${engine} ${engine_version}` },
    {
      id: "region",
      header: "Region",
      cell: ({ provider, datacenters }) => `${provider} / ${datacenters.map(({ region }) => region).join(", ")}`,
    },
    { id: "zones", header: "Zones", cell: ({ datacenters }) => datacenters.flatMap(({ zones }) => zones).join(", ") },
    { id: "nodes", header: "Nodes up", cell: ({ nodes_up, nodes_total }) => `${nodes_up} of ${nodes_total}` },
    { id: "age", header: "Age", cell: ({ created_at }) => <Moment at={created_at} now={now} /> },
  ];
}

function State({ cluster }: { cluster: Cluster }) {
  const operation = cluster.current_operation;
  return (
    <>
      <ClusterStateBadge state={cluster.state} />
      {cluster.expires_at !== null && (
        <div>
          <TestDriveBadge cluster={cluster} />
        </div>
      )}
      {operation && (
        <Box fontSize="body-s" color="text-body-secondary">
          <RouteLink to="/operations/$operationId" params={{ operationId: operation.id }} fontSize="body-s">
            {operation.state === "blocked" ? "Blocked" : "In progress"}, {Math.round(operation.progress * 100)} %
          </RouteLink>
        </Box>
      )}
    </>
  );
}

/** Nothing while it is not known: Alertmanager may be away, and then the cluster's page says so. */
function Alerts({ clusterId, firing }: { clusterId: string; firing: FiringAlerts | undefined }) {
  if (firing === undefined) return <>–</>;
  const counts = firing.counts.filter(({ cluster_id }) => cluster_id === clusterId);
  if (counts.length === 0) return <>None</>;
  return (
    <RouteLink
      to="/clusters/$clusterId"
      params={{ clusterId }}
      search={{ tab: "alerts" }}
      ariaLabel={firingWords(counts)}
    >
      <FiringBadge counts={counts} />
    </RouteLink>
  );
}

function Filter({
  filters,
  catalog,
  onChange,
}: {
  filters: ClusterFilters;
  catalog: Catalog | undefined;
  onChange: (filters: ClusterFilters) => void;
}) {
  const zones = catalog?.providers.flatMap(({ regions }) => regions.flatMap((region) => region.zones)) ?? [];
  const option = (propertyKey: string, value: string, label = value): PropertyFilterProps.FilteringOption => ({
    propertyKey,
    value,
    label,
  });
  return (
    <PropertyFilter
      query={{ operation: "and", tokens: tokensFromFilters(filters) }}
      onChange={({ detail }) => onChange(filtersFromTokens(detail.tokens))}
      filteringProperties={[
        { key: "state", propertyLabel: "State", groupValuesLabel: "States", operators: ["="] },
        { key: "engine", propertyLabel: "Engine", groupValuesLabel: "Engines", operators: ["="] },
        { key: "zone", propertyLabel: "Zone", groupValuesLabel: "Zones", operators: ["="] },
      ]}
      filteringOptions={[
        ...CLUSTER_STATE_OPTIONS.map(({ value, label }) => option("state", value, label)),
        ...(catalog?.engines ?? []).map(({ name, title }) => option("engine", name, title)),
        ...[...new Set(zones)].map((zone) => option("zone", zone)),
      ]}
      hideOperations
      filteringPlaceholder="Find clusters by name, state, engine or zone"
      filteringAriaLabel="Find clusters"
      i18nStrings={{ filteringAriaLabel: "Find clusters", clearFiltersText: "Clear filters" }}
    />
  );
}
