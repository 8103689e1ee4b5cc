import Box from "@cloudscape-design/components/box";
import SegmentedControl from "@cloudscape-design/components/segmented-control";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Tabs from "@cloudscape-design/components/tabs";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type Cluster, clusterMetricsQuery, fetchClusterMetricsCsv, metricsCatalogueQuery } from "../api";
import { ChartPage } from "../components/chart-page";
import { NumberAge, NumbersNote } from "../components/number-age";
import { QueryView } from "../components/query-view";
import { RangePicker } from "../components/range-picker";
import { download } from "../hooks/use-download";
import { type RangeSearch, shownTime } from "../util/metric-range";
import { DASHBOARDS, type MetricsSearch, SPLITS } from "../util/metrics-search";

const route = getRouteApi("/console/clusters/$clusterId");

const SPLIT_LABELS = { cluster: "Whole cluster", zone: "By zone", node: "By node" };

/** What the cluster does, in charts: by subject, for all of it or split by zone or node. */
export function ClusterDashboards({ cluster }: { cluster: Cluster }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { dashboard = "overview", by = "cluster" } = search;
  const time = shownTime(search);
  const catalogue = useQuery(metricsCatalogueQuery());
  const metrics = useQuery(clusterMetricsQuery(cluster.id, { dashboard, by }, time));
  const titles = new Map(catalogue.data?.dashboards.map(({ id, title }) => [id, title]));

  const change = (next: Partial<MetricsSearch>) =>
    void navigate({ search: (old) => ({ ...old, ...next }), resetScroll: false });
  const onTime = ({ range, from, to }: RangeSearch) => change({ range, from, to });

  return (
    <Tabs
      ariaLabel="Dashboards"
      activeTabId={dashboard}
      onChange={({ detail }) => change({ dashboard: detail.activeTabId as MetricsSearch["dashboard"] })}
      tabs={DASHBOARDS.map((id) => ({
        id,
        label: titles.get(id) ?? id,
        content: id === dashboard && (
          <SpaceBetween size="m">
            <div className="chart-controls">
              <SegmentedControl
                label="Lines"
                selectedId={by}
                options={SPLITS.map((split) => ({ id: split, text: SPLIT_LABELS[split] }))}
                onChange={({ detail }) => change({ by: detail.selectedId as MetricsSearch["by"] })}
              />
              <RangePicker time={time} onChange={onTime} />
              {metrics.data && (
                <Box>
                  <NumberAge age={metrics.data.age_seconds} answeredAt={metrics.dataUpdatedAt} />
                </Box>
              )}
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
                        `${cluster.name}-${chart}.csv`,
                        fetchClusterMetricsCsv(cluster.id, { dashboard, by, chart: [chart] }, time),
                      )
                    }
                  />
                </SpaceBetween>
              )}
            </QueryView>
          </SpaceBetween>
        ),
      }))}
    />
  );
}
