import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { type Cluster, type Operation, operationQuery, operationsQuery, useLiveQuery } from "../api";
import { OperationSteps } from "../components/operation-progress";
import { QueryView } from "../components/query-view";
import { useNow } from "../hooks/use-now";
import { CursorTable } from "../table/cursor-table";
import { operationColumns } from "../table/operation-columns";
import { Fold } from "../ui/fold";
import { lastCursor } from "../util/search";
import { ClusterFindings } from "./cluster-findings";

const route = getRouteApi("/console/clusters/$clusterId");

/** Everything that was done to the cluster, newest first. Kept for ever. */
export function ClusterActivity({ cluster }: { cluster: Cluster }) {
  const { after } = route.useSearch();
  const navigate = route.useNavigate();
  const now = useNow(30_000);
  const operations = useLiveQuery(operationsQuery({ cluster_id: cluster.id, cursor: lastCursor(after) }), ({ items }) =>
    items.some(({ finished_at }) => finished_at === null),
  );
  return (
    <SpaceBetween size="l">
      <ClusterFindings cluster={cluster} />
      <CursorTable
        noun="operations"
        variant="container"
        page={operations}
        cursors={after}
        onCursors={(cursors) => void navigate({ search: { tab: "activity", after: cursors } })}
        header={<Header variant="h2">Operations</Header>}
        empty={<Box color="inherit">Nothing was done yet.</Box>}
        columns={[
          ...operationColumns(now)
            .filter(({ id }) => id !== "cluster")
            .map((column) => ({ ...column, verticalAlign: "top" as const })),
          {
            id: "steps",
            header: "Steps",
            minWidth: 420,
            verticalAlign: "top",
            cell: (operation) => <Steps operation={operation} />,
          },
        ]}
      />
    </SpaceBetween>
  );
}

function Steps({ operation }: { operation: Operation }) {
  const [isOpen, setIsOpen] = useState(false);
  const detail = useQuery({ ...operationQuery(operation.id), enabled: isOpen });
  return (
    <Fold summary={`${operation.steps_done} of ${operation.steps_total} done`} onToggle={setIsOpen}>
      {isOpen && (
        <QueryView query={detail} lines={2}>
          {(data) => <OperationSteps operation={data} />}
        </QueryView>
      )}
    </Fold>
  );
}
