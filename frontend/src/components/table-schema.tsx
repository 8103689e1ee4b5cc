import Badge from "@cloudscape-design/components/badge";
import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Table from "@cloudscape-design/components/table";
import Tabs from "@cloudscape-design/components/tabs";
import { useQuery } from "@tanstack/react-query";
import { adviceQuery, type Cluster, type TableSchema, tableSchemaQuery, useLiveQuery } from "../api";
import { Code } from "../ui/code";
import { AdviceList } from "./advice-list";
import { Moment } from "./moment";
import { QueryView } from "./query-view";
import { RouteLink } from "./route-link";
import { TableChanges } from "./table-changes";

interface Props {
  cluster: Cluster;
  keyspace: string;
  table: string;
}

type Value = TableSchema["options"][number]["value"];

function told(value: Value): string {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "–");
}

/** What could be better about a table, how it is made, and how it is set. */
export function TableParts({ cluster, keyspace, table }: Props) {
  const advice = useLiveQuery(adviceQuery(cluster.id, { keyspace, table }), ({ review }) => review.waiting);
  const schema = useQuery(tableSchemaQuery(cluster.id, keyspace, table));
  const count = advice.data?.items.length ?? 0;
  return (
    <Tabs
      ariaLabel="Advice, schema and settings"
      tabs={[
        {
          id: "advice",
          label: count > 0 ? `Advice (${count})` : "Advice",
          content: (
            <QueryView query={advice} lines={3}>
              {({ items, review }) =>
                items.length > 0 ? (
                  <AdviceList cluster={cluster} items={items} ofTable />
                ) : (
                  <Box color="text-body-secondary">
                    {review.computed_at ? "There is nothing to say about this table." : "It was not looked at yet."}
                  </Box>
                )
              }
            </QueryView>
          ),
        },
        {
          id: "schema",
          label: "Schema",
          content: (
            <QueryView query={schema} lines={6}>
              {(data) => <Schema schema={data} />}
            </QueryView>
          ),
        },
        {
          id: "settings",
          label: "Settings",
          content: (
            <QueryView query={schema} lines={6}>
              {(data) => <Settings schema={data} />}
            </QueryView>
          ),
        },
        {
          id: "changes",
          label: "Applied",
          content: <TableChanges cluster={cluster} of={{ keyspace, table }} />,
        },
        {
          id: "heat",
          label: "Hot partitions",
          content: (
            <Box>
              Nodes can watch for some seconds which partitions are read and written most.{" "}
              <RouteLink
                to="/clusters/$clusterId"
                params={{ clusterId: cluster.id }}
                search={{ tab: "diagnostics", ask: "hot-partitions" }}
              >
                Ask a node for the hot partitions of {keyspace}.{table}
              </RouteLink>
            </Box>
          ),
        },
      ]}
    />
  );
}

function Schema({ schema }: { schema: TableSchema }) {
  return (
    <Container
      header={
        <Header
          variant="h2"
          description={
            <>
              As a node described it <Moment at={schema.read_at} />.
            </>
          }
        >
          Schema
        </Header>
      }
    >
      <Code content={schema.statement} label="schema" wrapLines />
    </Container>
  );
}

function Settings({ schema }: { schema: TableSchema }) {
  return (
    <Table
      variant="container"
      trackBy="name"
      wrapLines
      items={schema.options}
      ariaLabels={{ tableLabel: "Settings" }}
      header={
        <Header variant="h2" description="Options of the table, beside those where nobody says otherwise.">
          Settings
        </Header>
      }
      empty={<Box color="inherit">The node told no options.</Box>}
      columnDefinitions={[
        { id: "name", header: "Option", isRowHeader: true, cell: ({ name }) => <code>{name}</code> },
        {
          id: "value",
          header: "Value",
          cell: ({ value, is_usual, usual }) => (
            <>
              {told(value)} {!is_usual && usual !== null && <Badge color="blue">Set</Badge>}
            </>
          ),
        },
        { id: "usual", header: "Default", cell: ({ usual }) => told(usual) },
      ]}
    />
  );
}
