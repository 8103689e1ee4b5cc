import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { ApiError, catalogQuery, type DynamoDbOrder, sizingChoicesQuery, sizingQuery } from "../api";
import { DynamoDbCosts } from "../components/dynamodb-costs";
import { ErrorBox } from "../components/error-box";
import { QueryView } from "../components/query-view";
import { SizingShapes } from "../components/sizing-shapes";
import { SizingForm } from "../forms/sizing-form";
import { useTitle } from "../hooks/use-title";
import { FIELDS, type SizingSearch, toSizingOrder } from "../util/sizing";

const route = getRouteApi("/console/sizing");

/** Which cluster is large enough, what it costs and why; the address holds what was asked. */
export function SizingPage() {
  useTitle("Sizing");
  const navigate = route.useNavigate();
  const search = route.useSearch();
  const choices = useQuery(sizingChoicesQuery());
  const catalog = useQuery(catalogQuery());
  const order = toSizingOrder(search);
  const plan = useQuery(sizingQuery(order));
  const fields = plan.error instanceof ApiError ? plan.error.fields : {};
  const isAtField = Object.keys(fields).some((name) => KNOWN.has(name));
  return (
    <SpaceBetween size="l">
      <Header
        variant="h1"
        description="Which cluster is large enough for a load, by published figures. A place to begin: order, measure, change."
      >
        Sizing
      </Header>
      <QueryView query={choices} lines={6}>
        {(data) => (
          <SizingForm
            choices={data}
            search={search}
            fields={fields}
            isAsking={plan.isFetching}
            onAsk={(asked) => void navigate({ search: asked })}
          />
        )}
      </QueryView>
      {plan.isError && !isAtField && <ErrorBox error={plan.error} onRetry={() => void plan.refetch()} />}
      {order !== null && plan.isPending && !plan.isError && (
        <QueryView query={plan} lines={6}>
          {() => null}
        </QueryView>
      )}
      {plan.data && catalog.data && <SizingShapes answer={plan.data} catalog={catalog.data} search={search} />}
      {plan.data && <DynamoDbCosts order={atDynamoDb(search)} />}
    </SpaceBetween>
  );
}

const KNOWN = new Set<string>(["engine", "provider", "region", "like_cluster_id", ...Object.values(FIELDS)]);
const LARGEST_ITEM = 400 * 1024;

/** Its rows have a largest size: larger ones are counted as that. */
function atDynamoDb({ reads = 0, writes = 0, row = 1024, data = 0, spare = 25 }: SizingSearch): DynamoDbOrder {
  return {
    reads_per_second: reads,
    writes_per_second: writes,
    row_bytes: Math.min(row, LARGEST_ITEM),
    data_bytes: data * 2 ** 30,
    spare_percent: spare,
  };
}
