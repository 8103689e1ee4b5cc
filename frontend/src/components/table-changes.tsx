import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import { useState } from "react";
import { type Cluster, type TableChange, tableChangesQuery, useLiveQuery } from "../api";
import { useNow } from "../hooks/use-now";
import { CursorTable } from "../table/cursor-table";
import { lastCursor } from "../util/search";
import { ActionButton } from "./action-button";
import { TablePlanModal } from "./advice-modals";
import { Moment } from "./moment";
import { RouteLink } from "./route-link";

const STATE: Record<TableChange["state"], [StatusIndicatorProps.Type, string]> = {
  applying: ["in-progress", "Under way"],
  applied: ["success", "In effect"],
  undone: ["stopped", "Taken back"],
  cancelled: ["stopped", "Cancelled"],
};

/** Options on one side of a change; of those that are maps only what the other side has otherwise. */
function told(options: TableChange["before"], other: TableChange["before"]): string {
  return Object.entries(options)
    .flatMap(([name, value]) => {
      if (value === null || typeof value !== "object") return [`${name} = ${value}`];
      const against = other[name];
      const others: Record<string, string> = against !== null && typeof against === "object" ? against : {};
      return Object.entries(value)
        .filter(([key, each]) => others[key] !== each)
        .map(([key, each]) => `${key} = ${each.replace(/^org\.apache\.cassandra\..*\./, "")}`);
    })
    .join(", ");
}

/** What was changed by advice, with the way back. */
export function TableChanges({ cluster, of }: { cluster: Cluster; of?: { keyspace: string; table: string } }) {
  const now = useNow(30_000);
  const [cursors, setCursors] = useState<string[]>();
  const [back, setBack] = useState<TableChange | null>(null);
  const changes = useLiveQuery(tableChangesQuery(cluster.id, of ?? {}, lastCursor(cursors)), ({ items }) =>
    items.some(({ state }) => state === "applying"),
  );
  return (
    <>
      <CursorTable
        noun="changes of tables"
        variant="container"
        page={changes}
        cursors={cursors}
        onCursors={setCursors}
        header={
          <Header variant="h2" description="Options that were set by Apply, and what they were.">
            Applied
          </Header>
        }
        empty={<Box color="inherit">No advice was applied yet.</Box>}
        columns={[
          { id: "table", header: "Table", isRowHeader: true, cell: ({ keyspace, table }) => `${keyspace}.${table}` },
          {
            id: "title",
            header: "Advice",
            minWidth: 160,
            cell: ({ title, undoes }) => (undoes ? `Take back: ${title}` : title),
          },
          {
            id: "state",
            header: "State",
            minWidth: 130,
            cell: ({ state }) => <StatusIndicator type={STATE[state][0]}>{STATE[state][1]}</StatusIndicator>,
          },
          { id: "before", header: "Before", minWidth: 200, cell: ({ before, after }) => told(before, after) },
          { id: "after", header: "After", minWidth: 200, cell: ({ before, after }) => told(after, before) },
          { id: "by", header: "By", cell: ({ ordered_by }) => ordered_by },
          { id: "at", header: "When", cell: ({ ordered_at }) => <Moment at={ordered_at} now={now} /> },
          {
            id: "do",
            header: "Actions",
            minWidth: 150,
            cell: (change) => (
              <>
                <ActionButton
                  action="undo_table_change"
                  allowed={change.allowed_actions}
                  variant="inline-link"
                  ariaLabel={`Take back: ${change.title} of ${change.table}`}
                  onClick={() => setBack(change)}
                >
                  Take back
                </ActionButton>{" "}
                {change.operation_id && (
                  <RouteLink to="/operations/$operationId" params={{ operationId: change.operation_id }}>
                    Operation
                  </RouteLink>
                )}
              </>
            ),
          },
        ]}
      />
      {back && <TablePlanModal cluster={cluster} change={back} onDismiss={() => setBack(null)} />}
    </>
  );
}
