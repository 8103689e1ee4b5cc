import Box from "@cloudscape-design/components/box";
import ButtonDropdown from "@cloudscape-design/components/button-dropdown";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SegmentedControl from "@cloudscape-design/components/segmented-control";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { TableProps } from "@cloudscape-design/components/table";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type CostItem, type CostSearchGroup, type Costs, type CostsWish, costsQuery, fetchCosts } from "../api";
import { download } from "../hooks/use-download";
import { CursorTable } from "../table/cursor-table";
import {
  COST_PARTS,
  COST_RANGE_LABELS,
  COST_RANGES,
  type CostRange,
  costDays,
  costName,
  costStep,
} from "../util/costs";
import { formatSpent } from "../util/money";
import { lastCursor } from "../util/search";
import { CostBars } from "./cost-bars";
import { CostTreemap } from "./cost-treemap";
import { RouteLink } from "./route-link";

type Row = CostItem & { id: string };

interface Props {
  /** Of this cluster only. */
  clusterId?: string;
  group: CostSearchGroup;
  tagKey?: string;
  range: CostRange;
  onRange: (range: CostRange) => void;
  cursors: string[] | undefined;
  onCursors: (cursors: string[] | undefined) => void;
  /** By what it is grouped, where one may choose. */
  grouping?: ReactNode;
}

const EXPORTS = [
  { id: "csv", text: "CSV", name: "costs.csv" },
  { id: "json", text: "JSON", name: "costs.json" },
  { id: "focus", text: "FOCUS 1.0 (CSV)", name: "costs-focus.csv" },
] as const;

/** What was spent in a time: over time, as areas, and in a table whose rows sum to the whole. */
export function CostReport({ clusterId, group, tagKey, range, onRange, cursors, onCursors, grouping }: Props) {
  const days = costDays(range, Date.now());
  const where: CostsWish = { ...days, ...(clusterId && { cluster_id: clusterId }) };
  const wish: CostsWish = { ...where, group, ...(group === "tag" && { tag_key: tagKey ?? "" }) };
  const costs = useQuery({ ...costsQuery({ ...wish, cursor: lastCursor(cursors) }), select: withIds });
  const save = (id: string) => {
    const chosen = EXPORTS.find((each) => each.id === id);
    if (chosen !== undefined) void download(chosen.name, fetchCosts({ ...where, format: chosen.id }));
  };
  return (
    <SpaceBetween size="l">
      <Container
        header={
          <Header
            variant="h2"
            description="Days are days of UTC. An hour is counted some minutes after its end."
            actions={
              <ButtonDropdown
                items={EXPORTS.map(({ id, text }) => ({ id, text }))}
                onItemClick={({ detail }) => save(detail.id)}
              >
                Export
              </ButtonDropdown>
            }
          >
            Spent
          </Header>
        }
      >
        <SpaceBetween size="m">
          <SegmentedControl
            label="Time"
            selectedId={range}
            options={COST_RANGES.map((id) => ({ id, text: COST_RANGE_LABELS[id] }))}
            onChange={({ detail }) => onRange(COST_RANGES.find((id) => id === detail.selectedId) ?? "month")}
          />
          <CostBars wish={{ ...where, group: costStep(range) }} />
        </SpaceBetween>
      </Container>
      <CursorTable
        noun="costs"
        variant="container"
        page={costs}
        cursors={cursors}
        onCursors={onCursors}
        columns={columns(group, clusterId !== undefined, costs.data?.total)}
        header={
          <Header
            variant="h2"
            counter={costs.data && `(${costs.data.groups})`}
            description={costs.data && `In all ${formatSpent(costs.data.total.micros)}; all rows sum to it.`}
          >
            {group === "table" ? "By table" : "What for"}
          </Header>
        }
        filter={
          <SpaceBetween size="s">
            {grouping}
            {costs.data && cursors === undefined && <CostTreemap parts={parts(costs.data, group)} />}
          </SpaceBetween>
        }
        empty={<Box color="inherit">Nothing was spent in this time.</Box>}
      />
    </SpaceBetween>
  );
}

function withIds(costs: Costs): Omit<Costs, "items"> & { items: Row[] } {
  return { ...costs, items: costs.items.map((item) => ({ ...item, id: item.key })) };
}

/** The dearest, and all that is on later pages as one. */
function parts({ items, total, groups }: ReturnType<typeof withIds>, group: CostSearchGroup) {
  const rest = total.micros - items.reduce((sum, { micros }) => sum + micros, 0);
  const named = items.map((item) => ({
    id: item.id,
    name: costName(item, group),
    of: item.table ? item.cluster?.name : undefined,
    micros: item.micros,
  }));
  return groups > items.length
    ? [...named, { id: "rest", name: `${groups - items.length} others`, micros: rest }]
    : named;
}

function columns(
  group: CostSearchGroup,
  isOfCluster: boolean,
  total: Costs["total"] | undefined,
): TableProps.ColumnDefinition<Row>[] {
  const whole = total?.micros ?? 0;
  const share = (micros: number) => (whole > 0 ? `${((100 * micros) / whole).toFixed(1)} %` : "–");
  // What nothing was spent on needs no room.
  const shown = COST_PARTS.filter(({ id }) => total === undefined || total.parts[id] !== 0);
  return [
    {
      id: "name",
      header: NAMES[group],
      isRowHeader: true,
      minWidth: 160,
      cell: (item) => <Name item={item} group={group} />,
    },
    ...(group === "table" && !isOfCluster
      ? [{ id: "cluster", header: "Cluster", cell: ({ cluster }: Row) => cluster?.name ?? "–" }]
      : []),
    { id: "micros", header: "Spent", cell: ({ micros }) => <span className="nowrap">{formatSpent(micros)}</span> },
    { id: "share", header: "Share", cell: ({ micros }) => <span className="nowrap">{share(micros)}</span> },
    ...shown.map(({ id, label }) => ({
      id,
      header: label,
      cell: ({ parts }: Row) => (parts[id] === 0 ? "–" : <span className="nowrap">{formatSpent(parts[id])}</span>),
    })),
    ...(group === "table"
      ? [
          {
            id: "per-million",
            header: "A million requests",
            cell: ({ per_million_requests: micros }: Row) =>
              micros === null ? "–" : <span className="nowrap">{formatSpent(micros)}</span>,
          },
        ]
      : []),
  ];
}

const NAMES: Record<CostSearchGroup, string> = {
  cluster: "Cluster",
  table: "Table",
  engine: "Engine",
  tag: "Value of the tag",
  day: "Day",
  month: "Month",
};

function Name({ item, group }: { item: Row; group: CostSearchGroup }) {
  const name = costName(item, group);
  const { cluster, table } = item;
  if (cluster === null || cluster.deleted) return name;
  if (table === null) {
    return (
      <RouteLink to="/clusters/$clusterId" params={{ clusterId: cluster.id }} search={{ tab: "costs" }}>
        {name}
      </RouteLink>
    );
  }
  if (table.shared) return name;
  return (
    <RouteLink
      to="/clusters/$clusterId/tables/$keyspace/$table"
      params={{ clusterId: cluster.id, keyspace: table.keyspace, table: table.name }}
    >
      {name}
    </RouteLink>
  );
}
