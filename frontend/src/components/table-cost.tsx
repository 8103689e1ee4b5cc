import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import { useQuery } from "@tanstack/react-query";
import { type CostItem, costsQuery } from "../api";
import { COST_PARTS, costDays } from "../util/costs";
import { formatSpent } from "../util/money";
import { QueryView } from "./query-view";
import { RouteLink } from "./route-link";

interface Props {
  clusterId: string;
  keyspace: string;
  table: string;
}

/** What a table cost in the month so far, and what for. */
export function TableCost({ clusterId, keyspace, table }: Props) {
  const costs = useQuery(
    costsQuery({ ...costDays("month", Date.now()), group: "table", cluster_id: clusterId, keyspace, table, limit: 1 }),
  );
  return (
    <Container
      header={
        <Header
          variant="h2"
          description="Its share of what the cluster cost in the month so far, in hours that are closed."
          actions={
            <RouteLink to="/clusters/$clusterId" params={{ clusterId }} search={{ tab: "costs" }}>
              Costs of the cluster
            </RouteLink>
          }
        >
          Cost
        </Header>
      }
    >
      <QueryView query={costs} lines={2}>
        {({ items: [item] }) =>
          item === undefined ? (
            <Box color="text-body-secondary">No hour of this month was shared out to it yet.</Box>
          ) : (
            <Amounts item={item} />
          )
        }
      </QueryView>
    </Container>
  );
}

function Amounts({ item }: { item: CostItem }) {
  const shown = COST_PARTS.filter(({ id }) => item.parts[id] !== 0);
  return (
    <KeyValuePairs
      columns={4}
      minColumnWidth={140}
      items={[
        { label: "This month", value: formatSpent(item.micros) },
        ...shown.map(({ id, label }) => ({ label, value: formatSpent(item.parts[id]) })),
        { label: "Reads, all replicas", value: (item.reads ?? 0).toLocaleString("en") },
        { label: "Writes, all replicas", value: (item.writes ?? 0).toLocaleString("en") },
        {
          label: "A million reads and writes",
          value: item.per_million_requests === null ? "–" : formatSpent(item.per_million_requests),
        },
      ]}
    />
  );
}
