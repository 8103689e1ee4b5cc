import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import type { TableProps } from "@cloudscape-design/components/table";
import { useQuery } from "@tanstack/react-query";
import { type Saving, savingsQuery } from "../api";
import { CursorTable } from "../table/cursor-table";
import { formatSpent } from "../util/money";
import { lastCursor } from "../util/search";
import { RouteLink } from "./route-link";

interface Props {
  cursors: string[] | undefined;
  onCursors: (cursors: string[] | undefined) => void;
}

/** What all clusters could cost less, the largest sum first. */
export function CostSavings({ cursors, onCursors }: Props) {
  const savings = useQuery(savingsQuery(lastCursor(cursors)));
  return (
    <CursorTable
      noun="savings"
      variant="container"
      page={savings}
      cursors={cursors}
      onCursors={onCursors}
      columns={COLUMNS}
      header={
        <Header
          variant="h2"
          counter={savings.data && `(${savings.data.count})`}
          description={savings.data && savings.data.count > 0 ? whole(savings.data.micros) : undefined}
        >
          Savings
        </Header>
      }
      empty={
        <Box color="inherit">
          Nothing could cost less, as far as is known. Clusters are looked at every 15 minutes, by days and weeks that
          are over.
        </Box>
      }
    />
  );
}

function whole(micros: number): string {
  return `Together up to ${formatSpent(micros)} a month. What excludes another is counted once.`;
}

const COLUMNS: TableProps.ColumnDefinition<Saving>[] = [
  { id: "title", header: "Saving", isRowHeader: true, minWidth: 160, cell: (saving) => <Title saving={saving} /> },
  { id: "cluster", header: "Cluster", minWidth: 120, cell: ({ cluster }) => named(cluster) },
  {
    id: "micros",
    header: "A month",
    minWidth: 110,
    cell: ({ micros }) => <span className="nowrap">{formatSpent(micros)}</span>,
  },
  {
    id: "finding",
    header: "Why",
    minWidth: 320,
    cell: ({ finding, formula }) => (
      <>
        {finding}
        <Box fontSize="body-s" color="text-body-secondary">
          {formula}
        </Box>
      </>
    ),
  },
];

function named({ name, deleted }: Saving["cluster"]): string {
  return deleted ? `${name} (deleted)` : name;
}

/** Leads to the advice; of a cluster that is gone to its backups. */
function Title({ saving: { title, cluster, keyspace, table } }: { saving: Saving }) {
  const subject = keyspace !== null && table !== null && `${keyspace}.${table}`;
  return (
    <>
      {cluster.deleted ? (
        <RouteLink to="/backups">{title}</RouteLink>
      ) : (
        <RouteLink
          to="/clusters/$clusterId"
          params={{ clusterId: cluster.id }}
          search={{ tab: "advice" }}
          ariaLabel={`${title}: advice of ${cluster.name}`}
        >
          {title}
        </RouteLink>
      )}
      {subject && <Box fontSize="body-s">{subject}</Box>}
    </>
  );
}
