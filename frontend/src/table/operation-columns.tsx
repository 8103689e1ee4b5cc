import Box from "@cloudscape-design/components/box";
import type { TableProps } from "@cloudscape-design/components/table";
import type { Operation } from "../api";
import { Moment } from "../components/moment";
import { RouteLink } from "../components/route-link";
import { OperationStateBadge } from "../components/states";
import { formatDuration, secondsBetween } from "../util/duration";

/** How an operation looks in a row, wherever operations are listed. */
export function operationColumns(now: number): TableProps.ColumnDefinition<Operation>[] {
  return [
    {
      id: "title",
      header: "Operation",
      isRowHeader: true,
      cell: ({ id, title }) => (
        <RouteLink to="/operations/$operationId" params={{ operationId: id }}>
          {title}
        </RouteLink>
      ),
    },
    {
      id: "cluster",
      header: "Cluster",
      cell: ({ cluster_id, cluster_name }) =>
        cluster_id ? (
          <RouteLink to="/clusters/$clusterId" params={{ clusterId: cluster_id }}>
            {cluster_name || cluster_id}
          </RouteLink>
        ) : (
          "–"
        ),
    },
    { id: "state", header: "State", minWidth: 130, cell: (operation) => <State operation={operation} /> },
    { id: "actor", header: "Asked by", cell: ({ actor }) => actor },
    { id: "asked", header: "Asked", cell: ({ created_at }) => <Moment at={created_at} now={now} /> },
    {
      id: "duration",
      header: "Took",
      cell: ({ created_at, finished_at }) =>
        finished_at ? formatDuration(secondsBetween(created_at, finished_at, now)) : "–",
    },
  ];
}

function State({ operation }: { operation: Operation }) {
  const isOpen = operation.finished_at === null;
  return (
    <>
      <OperationStateBadge state={operation.state} />
      {(operation.reason || isOpen) && (
        <Box fontSize="body-s" color="text-body-secondary">
          {operation.reason?.message ?? operation.current ?? `${Math.round(operation.progress * 100)} %`}
        </Box>
      )}
    </>
  );
}
