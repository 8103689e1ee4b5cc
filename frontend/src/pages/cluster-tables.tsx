import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import CollectionPreferences from "@cloudscape-design/components/collection-preferences";
import Header from "@cloudscape-design/components/header";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { TableProps } from "@cloudscape-design/components/table";
import TextFilter from "@cloudscape-design/components/text-filter";
import Toggle from "@cloudscape-design/components/toggle";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import {
  type Cluster,
  clusterBackupsOverviewQuery,
  fetchTablesCsv,
  type TableColumn,
  type TableMetrics,
  tablesMetricsQuery,
} from "../api";
import { Moment } from "../components/moment";
import { NumberAge, NumbersNote } from "../components/number-age";
import { ProtectionBadge } from "../components/protection-badge";
import { RouteLink } from "../components/route-link";
import { Sparkline } from "../components/sparkline";
import { download } from "../hooks/use-download";
import { useNow } from "../hooks/use-now";
import { CursorTable } from "../table/cursor-table";
import { formatMetric } from "../util/metric-units";
import type { MetricsSearch } from "../util/metrics-search";
import { lastCursor } from "../util/search";
import { count } from "../util/size";

const route = getRouteApi("/console/clusters/$clusterId");

type Row = TableMetrics & { id: string };

const LIMIT = 50;
const SHOWN_KEY = "ringmaster.tables.columns";
/** Shown until somebody chooses otherwise: what tells most, and fits beside the navigation of a usual window. */
const SHOWN = [
  "reads_per_second",
  "writes_per_second",
  "read_p99_seconds",
  "total_bytes",
  "tombstones_per_read",
  "protected_until",
];
/** For these a wide window has room, too. */
const SHOWN_WHEN_WIDE = ["write_p99_seconds", "sstables", "partition_max_bytes", "repaired_at"];
const WIDE_PX = 1800;

/** Every table with what it does now, sorted and searched by the API. */
export function ClusterTables({ cluster }: { cluster: Cluster }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const now = useNow(30_000);
  const [shown, setShown] = useState(readShown);
  const { sort = "-reads_per_second", q = "", keyspace, system = false, after } = search;
  const wish = { sort, q, keyspace, system };
  const tables = useQuery(tablesMetricsQuery(cluster.id, { ...wish, limit: LIMIT, cursor: lastCursor(after) }));
  const known = useQuery(clusterBackupsOverviewQuery(cluster.id));
  const { data } = tables;

  const change = (next: MetricsSearch & { after?: string[] }) =>
    void navigate({
      search: (old) => ({ ...old, after: undefined, ...next }),
      resetScroll: false,
      replace: "q" in next,
    });

  const page = {
    ...tables,
    data: data && { ...data, items: data.items.map((each) => ({ ...each, id: `${each.keyspace}.${each.table}` })) },
  } as Parameters<typeof CursorTable<Row>>[0]["page"];
  const keyspaces = [...new Set([...(known.data?.tables ?? []), ...(data?.items ?? [])].map((each) => each.keyspace))];
  if (keyspace !== undefined && !keyspaces.includes(keyspace)) keyspaces.push(keyspace);
  const columns = columnsOf(cluster.id, data?.columns ?? [], now);
  const isFiltered = q !== "" || keyspace !== undefined;

  return (
    <SpaceBetween size="m">
      <NumbersNote note={data?.note ?? null} />
      <CursorTable
        noun="tables"
        variant="container"
        page={page}
        cursors={after}
        onCursors={(next) => change({ after: next })}
        columns={columns.filter(({ id }) => id === "table" || shown.includes(id ?? ""))}
        sorting={{
          column: sort.replace(/^-/, ""),
          isDescending: sort.startsWith("-"),
          onChange: (column, isDescending) => change({ sort: isDescending ? `-${column}` : column }),
        }}
        header={
          <Header
            variant="h2"
            counter={data && `(${data.total})`}
            description={data && <NumberAge age={data.age_seconds} answeredAt={tables.dataUpdatedAt} />}
            actions={
              <Button
                iconName="download"
                disabled={!data?.total}
                disabledReason="There is nothing to download."
                onClick={() => void download(`${cluster.name}-tables.csv`, fetchTablesCsv(cluster.id, wish))}
              >
                CSV
              </Button>
            }
          >
            Tables
          </Header>
        }
        filter={
          <div className="chart-controls">
            <TextFilter
              filteringText={q}
              filteringPlaceholder="Find tables"
              filteringAriaLabel="Find tables"
              countText={data && q ? count(data.total, "match").replace("matchs", "matches") : undefined}
              onDelayedChange={({ detail }) => change({ q: detail.filteringText || undefined })}
              onChange={({ detail }) => detail.filteringText === "" && change({ q: undefined })}
            />
            <Select
              ariaLabel="Keyspace"
              selectedOption={keyspace === undefined ? ALL_KEYSPACES : { value: keyspace, label: keyspace }}
              options={[ALL_KEYSPACES, ...keyspaces.sort().map((value) => ({ value, label: value }))]}
              onChange={({ detail }) => change({ keyspace: detail.selectedOption.value || undefined })}
            />
            <Toggle checked={system} onChange={({ detail }) => change({ system: detail.checked || undefined })}>
              The engine's own
            </Toggle>
          </div>
        }
        preferences={
          <CollectionPreferences
            title="Columns"
            confirmLabel="Show"
            cancelLabel="Cancel"
            preferences={{
              contentDisplay: columns.map(({ id }) => ({
                id: id ?? "",
                visible: id === "table" || shown.includes(id ?? ""),
              })),
            }}
            contentDisplayPreference={{
              title: "Which columns are shown",
              options: columns.map(({ id, header }) => ({
                id: id ?? "",
                label: String(header),
                alwaysVisible: id === "table",
              })),
            }}
            onConfirm={({ detail }) => {
              const chosen = (detail.contentDisplay ?? []).filter(({ visible }) => visible).map(({ id }) => id);
              localStorage.setItem(SHOWN_KEY, JSON.stringify(chosen));
              setShown(chosen);
            }}
          />
        }
        empty={
          <Box color="inherit">
            {isFiltered
              ? "No table fits. Change the search or the keyspace."
              : "No tables yet. Those that an application creates show up here within a minute."}
          </Box>
        }
      />
    </SpaceBetween>
  );
}

const ALL_KEYSPACES = { value: "", label: "All keyspaces" };

function readShown(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(SHOWN_KEY) ?? "");
    if (Array.isArray(kept)) return kept.filter((each) => typeof each === "string");
  } catch {
    // Nothing was chosen, or what was kept is not readable.
  }
  return window.innerWidth >= WIDE_PX ? [...SHOWN, ...SHOWN_WHEN_WIDE] : SHOWN;
}

function columnsOf(clusterId: string, told: TableColumn[], now: number): TableProps.ColumnDefinition<Row>[] {
  const moment = (id: "repaired_at" | "backed_up_at", header: string): TableProps.ColumnDefinition<Row> => ({
    id,
    header,
    sortingField: id,
    minWidth: 110,
    cell: (row) => <Moment at={row[id]} now={now} />,
  });
  return [
    {
      id: "table",
      header: "Table",
      sortingField: "keyspace",
      isRowHeader: true,
      minWidth: 160,
      cell: ({ keyspace, table }) => (
        <RouteLink to="/clusters/$clusterId/tables/$keyspace/$table" params={{ clusterId, keyspace, table }}>
          {keyspace}.{table}
        </RouteLink>
      ),
    },
    ...told.map(
      ({ id, title, unit, sparkline }): TableProps.ColumnDefinition<Row> => ({
        id,
        header: title,
        sortingField: id,
        minWidth: sparkline ? 140 : 100,
        cell: ({ numbers, sparklines }) => (
          <div className="spark-cell">
            <span className="nowrap">{formatMetric(numbers[id], unit)}</span>
            {sparkline && <Sparkline values={sparklines[id] ?? []} />}
          </div>
        ),
      }),
    ),
    moment("repaired_at", "Repaired"),
    {
      id: "protected_until",
      header: "Protected until",
      sortingField: "protected_until",
      minWidth: 150,
      cell: ({ protection, protected_until }) => (
        <ProtectionBadge protection={protection} until={protected_until} now={now} />
      ),
    },
    moment("backed_up_at", "Backed up"),
  ];
}
