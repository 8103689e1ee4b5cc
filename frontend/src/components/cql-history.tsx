import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import Table from "@cloudscape-design/components/table";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type CqlStatement, cqlHistoryQuery, forgetCqlStatementMutation, queryClient } from "../api";
import { formatMicroseconds } from "../util/cql";
import { ErrorBox } from "./error-box";
import { Moment } from "./moment";
import { QueryView } from "./query-view";

const STATE: Record<CqlStatement["state"], [StatusIndicatorProps.Type, string]> = {
  waiting: ["pending", "Waits"],
  running: ["in-progress", "Runs"],
  answered: ["success", "Done"],
  failed: ["error", "Failed"],
  cancelled: ["stopped", "Cancelled"],
};

/** What the reader ran on this cluster; nobody else sees it. */
export function CqlHistory({ clusterId, onUse }: { clusterId: string; onUse: (statement: CqlStatement) => void }) {
  const [cursors, setCursors] = useState<string[]>([]);
  const history = useQuery(cqlHistoryQuery(clusterId, cursors.at(-1)));
  const forget = useMutation({
    ...forgetCqlStatementMutation(),
    onSuccess: () => queryClient.invalidateQueries(cqlHistoryQuery(clusterId, cursors.at(-1))),
  });
  return (
    <QueryView query={history} lines={4}>
      {({ items, next_cursor: next }) => (
        <SpaceBetween size="s">
          {forget.error != null && <ErrorBox error={forget.error} />}
          <Table
            variant="borderless"
            wrapLines
            items={items}
            trackBy="id"
            ariaLabels={{ tableLabel: "History" }}
            empty={<Box color="inherit">You have run nothing here yet.</Box>}
            columnDefinitions={[
              {
                id: "statement",
                header: "Statement",
                isRowHeader: true,
                minWidth: 300,
                cell: ({ statement }) => <span className="cql-text">{statement}</span>,
              },
              { id: "role", header: "As", cell: ({ role }) => role },
              {
                id: "state",
                header: "State",
                minWidth: 130,
                cell: ({ state, problem }) => (
                  <StatusIndicator type={STATE[state][0]}>{problem?.code ?? STATE[state][1]}</StatusIndicator>
                ),
              },
              { id: "rows", header: "Rows", cell: ({ rows }) => rows },
              {
                id: "took",
                header: "Took",
                minWidth: 90,
                cell: ({ microseconds: took }) => (took === null ? "–" : formatMicroseconds(took)),
              },
              { id: "at", header: "When", minWidth: 110, cell: ({ asked_at: at }) => <Moment at={at} /> },
              {
                id: "do",
                header: "Actions",
                minWidth: 140,
                cell: (item) => (
                  <SpaceBetween direction="horizontal" size="xs">
                    <Button
                      variant="inline-link"
                      ariaLabel={`Write into the editor: ${item.statement.slice(0, 60)}`}
                      onClick={() => onUse(item)}
                    >
                      Use
                    </Button>
                    <Button
                      variant="inline-link"
                      ariaLabel={`Forget: ${item.statement.slice(0, 60)}`}
                      onClick={() => forget.mutate({ path: { cluster_id: clusterId, statement_id: item.id } })}
                    >
                      Forget
                    </Button>
                  </SpaceBetween>
                ),
              },
            ]}
          />
          {(next !== null || cursors.length > 0) && (
            <SpaceBetween direction="horizontal" size="xs">
              <Button disabled={cursors.length === 0} onClick={() => setCursors((before) => before.slice(0, -1))}>
                Newer
              </Button>
              <Button disabled={next === null} onClick={() => next && setCursors((before) => [...before, next])}>
                Older
              </Button>
            </SpaceBetween>
          )}
        </SpaceBetween>
      )}
    </QueryView>
  );
}
