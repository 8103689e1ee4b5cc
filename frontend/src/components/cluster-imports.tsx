import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import Table from "@cloudscape-design/components/table";
import { useState } from "react";
import { type Cluster, importsQuery, type TableImport, useLiveQuery } from "../api";
import { ImportCreateModal } from "../forms/import-create";
import { formatBytes } from "../util/size";
import { ActionButton } from "./action-button";
import { Moment } from "./moment";
import { QueryView } from "./query-view";
import { RouteLink } from "./route-link";

const STATES: Record<TableImport["state"], [StatusIndicatorProps.Type, string]> = {
  running: ["in-progress", "Under way"],
  checked: ["success", "Looked at"],
  succeeded: ["success", "Imported"],
  cancelled: ["stopped", "Cancelled"],
};

/** Tables of other clusters that were brought into this one. */
export function ClusterImports({ cluster }: { cluster: Cluster }) {
  const imports = useLiveQuery(importsQuery(cluster.id), ({ items }) => items.some(({ state }) => state === "running"));
  const [isCreating, setIsCreating] = useState(false);
  return (
    <>
      <QueryView query={imports} lines={2}>
        {({ items, allowed_actions }) => (
          <Table
            variant="container"
            trackBy="id"
            wrapLines
            items={items.filter(({ dry_run }) => !dry_run)}
            ariaLabels={{ tableLabel: "Imports" }}
            header={
              <Header
                variant="h2"
                description="SSTables of another cluster, or a backup of cassandra-medusa."
                actions={
                  <ActionButton action="create_import" allowed={allowed_actions} onClick={() => setIsCreating(true)}>
                    Import tables
                  </ActionButton>
                }
              >
                Imports
              </Header>
            }
            empty={<Box color="inherit">Nothing was imported.</Box>}
            columnDefinitions={[
              {
                id: "when",
                header: "Ordered",
                isRowHeader: true,
                cell: ({ created_at }) => <Moment at={created_at} />,
              },
              { id: "state", header: "State", cell: (each) => <State imported={each} /> },
              {
                id: "from",
                header: "From",
                cell: ({ path, backup_name }) => [path, backup_name].filter(Boolean).join(", "),
              },
              { id: "tables", header: "Tables", cell: ({ tables }) => tables.map(nameOf).join(", ") || "–" },
              { id: "size", header: "Size", cell: ({ bytes }) => formatBytes(bytes) },
              {
                id: "after",
                header: "Afterwards",
                cell: ({ repair_operation_id, repair_wanted, state }) =>
                  repair_operation_id ? (
                    <RouteLink to="/operations/$operationId" params={{ operationId: repair_operation_id }}>
                      Repair
                    </RouteLink>
                  ) : (
                    repair_wanted && state !== "cancelled" && "Repair follows"
                  ),
              },
            ]}
          />
        )}
      </QueryView>
      {isCreating && <ImportCreateModal cluster={cluster} onDismiss={() => setIsCreating(false)} />}
    </>
  );
}

function State({ imported }: { imported: TableImport }) {
  const [type, text] = STATES[imported.state];
  const badge = <StatusIndicator type={type}>{text}</StatusIndicator>;
  if (imported.state !== "running" || !imported.operation_id) return badge;
  return (
    <>
      {badge}
      <Box fontSize="body-s">
        <RouteLink to="/operations/$operationId" params={{ operationId: imported.operation_id }}>
          {formatBytes(imported.fetched_bytes)} of {formatBytes(imported.bytes)}
        </RouteLink>
      </Box>
    </>
  );
}

export function nameOf({ keyspace, table }: TableImport["tables"][number]): string {
  return `${keyspace}.${table}`;
}
