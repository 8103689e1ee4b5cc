import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import ContentLayout from "@cloudscape-design/components/content-layout";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import {
  clusterQuery,
  fetchTableMetricsCsv,
  keyspaceRepairsQuery,
  type TableMetrics,
  tableMetricsQuery,
  tablesMetricsQuery,
  useLiveQuery,
} from "../api";
import { ChartPage } from "../components/chart-page";
import { Moment } from "../components/moment";
import { NumberAge, NumbersNote } from "../components/number-age";
import { ProtectionBadge } from "../components/protection-badge";
import { QueryView } from "../components/query-view";
import { RangePicker } from "../components/range-picker";
import { RouteLink } from "../components/route-link";
import { TableCost } from "../components/table-cost";
import { TableParts } from "../components/table-schema";
import { download } from "../hooks/use-download";
import { useNow } from "../hooks/use-now";
import { useTitle } from "../hooks/use-title";
import { formatDuration } from "../util/duration";
import { type RangeSearch, shownTime } from "../util/metric-range";
import { formatMetric } from "../util/metric-units";

const route = getRouteApi("/console/clusters/$clusterId/tables/$keyspace/$table");

/** One table: what it does, how it is set, and how it is protected. */
export function TablePage() {
  const { clusterId, keyspace, table } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const time = shownTime(search);
  const cluster = useQuery(clusterQuery(clusterId));
  const metrics = useQuery(tableMetricsQuery(clusterId, keyspace, table, time));
  const name = `${keyspace}.${table}`;
  useTitle(name, cluster.data?.name ?? "Cluster", "Clusters");
  const onTime = ({ range, from, to }: RangeSearch) =>
    void navigate({ search: (old) => ({ ...old, range, from, to }), resetScroll: false });

  return (
    <ContentLayout header={<Header variant="h1">{name}</Header>}>
      <SpaceBetween size="l">
        <Facts clusterId={clusterId} keyspace={keyspace} table={table} />
        <TableCost clusterId={clusterId} keyspace={keyspace} table={table} />
        <div className="chart-controls">
          <RangePicker time={time} onChange={onTime} />
          {metrics.data && <NumberAge age={metrics.data.age_seconds} answeredAt={metrics.dataUpdatedAt} />}
        </div>
        <QueryView query={metrics} lines={8}>
          {(data) => (
            <SpaceBetween size="m">
              <NumbersNote note={data.note} />
              <ChartPage
                metrics={data}
                time={time}
                onTime={onTime}
                onCsv={(chart) =>
                  void download(
                    `${name}-${chart}.csv`,
                    fetchTableMetricsCsv({ cluster_id: clusterId, keyspace, table }, [chart], time),
                  )
                }
              />
            </SpaceBetween>
          )}
        </QueryView>
        {cluster.data && <TableParts cluster={cluster.data} keyspace={keyspace} table={table} />}
      </SpaceBetween>
    </ContentLayout>
  );
}

interface Named {
  clusterId: string;
  keyspace: string;
  table: string;
}

function Facts({ clusterId, keyspace, table }: Named) {
  const tables = useQuery(
    tablesMetricsQuery(clusterId, { keyspace, q: `${keyspace}.${table}`, limit: 200, sparklines: false }),
  );
  return (
    <QueryView query={tables} lines={4}>
      {(data) => {
        const found = data.items.find((each) => each.table === table);
        if (!found) {
          return (
            <Box color="text-body-secondary">
              Neither its nodes nor the control plane know this table now: it may have been dropped.
            </Box>
          );
        }
        return <Known clusterId={clusterId} found={found} columns={data.columns} />;
      }}
    </QueryView>
  );
}

function Known({
  clusterId,
  found,
  columns,
}: {
  clusterId: string;
  found: TableMetrics;
  columns: { id: string; title: string; unit: Parameters<typeof formatMetric>[1] }[];
}) {
  const now = useNow(30_000);
  const repairs = useLiveQuery(keyspaceRepairsQuery(clusterId, found.keyspace), () => false);
  const repair = repairs.data?.items.find(({ table }) => table === found.table);
  const toPage = (tab: "repairs" | "backups", words: string) => (
    <RouteLink to="/clusters/$clusterId" params={{ clusterId }} search={{ tab }}>
      {words}
    </RouteLink>
  );
  return (
    <SpaceBetween size="l">
      <Container header={<Header variant="h2">Now</Header>}>
        <KeyValuePairs
          columns={4}
          minColumnWidth={140}
          items={columns.map(({ id, title, unit }) => ({ label: title, value: formatMetric(found.numbers[id], unit) }))}
        />
      </Container>
      <Container header={<Header variant="h2">Protection and settings</Header>}>
        <KeyValuePairs
          columns={4}
          items={[
            {
              label: "Protected until",
              value: <ProtectionBadge protection={found.protection} until={found.protected_until} now={now} />,
            },
            {
              label: "Repaired",
              value: (
                <>
                  <Moment at={found.repaired_at} /> · {toPage("repairs", "Repairs")}
                </>
              ),
            },
            {
              label: "In a complete backup of",
              value: (
                <>
                  <Moment at={found.backed_up_at} /> · {toPage("backups", "Backups")}
                </>
              ),
            },
            { label: "Next repair", value: repair ? `${repair.mode}: ${repair.mode_reason}` : "–" },
            { label: "Copies", value: repair ? repair.replicas : "–" },
            { label: "gc_grace_seconds", value: repair ? formatDuration(repair.gc_grace_seconds) : "–" },
            { label: "Repair wanted every", value: repair ? formatDuration(repair.deadline_seconds) : "–" },
            { label: "One copy", value: repair ? formatMetric(repair.bytes, "bytes") : "–" },
          ]}
        />
      </Container>
    </SpaceBetween>
  );
}
