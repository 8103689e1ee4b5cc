import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Table from "@cloudscape-design/components/table";
import { useQuery } from "@tanstack/react-query";
import { type DynamoDbAnswer, type DynamoDbOrder, dynamoDbQuery } from "../api";
import { Fold } from "../ui/fold";
import { formatDollars } from "../util/money";
import { QueryView } from "./query-view";

const MODES: Record<string, string> = {
  provisioned: "Provisioned",
  on_demand: "On demand, without spare",
  reserved_1y: "Reserved for a year",
  reserved_3y: "Reserved for three years",
};

/** What the same load would cost at Amazon DynamoDB. */
export function DynamoDbCosts({ order }: { order: DynamoDbOrder }) {
  const costs = useQuery(dynamoDbQuery(order));
  return (
    <Container
      header={
        <Header variant="h2" description="The load and the data of today, read consistently; standard tables.">
          The same load at Amazon DynamoDB
        </Header>
      }
    >
      <QueryView query={costs} lines={4}>
        {(answer) => <Bills answer={answer} />}
      </QueryView>
    </Container>
  );
}

function Bills({ answer }: { answer: DynamoDbAnswer }) {
  return (
    <SpaceBetween size="s">
      <Table
        variant="embedded"
        contentDensity="compact"
        wrapLines
        trackBy="mode"
        items={answer.bills}
        ariaLabels={{ tableLabel: "Costs at DynamoDB" }}
        columnDefinitions={[
          { id: "mode", header: "Capacity", isRowHeader: true, minWidth: 180, cell: ({ mode }) => MODES[mode] ?? mode },
          { id: "hour", header: "An hour", cell: ({ total }) => formatDollars(total.hour) },
          { id: "month", header: "A month", cell: ({ total }) => formatDollars(total.month) },
          { id: "year", header: "A year", cell: ({ total }) => formatDollars(total.year) },
        ]}
      />
      <Fold summary={`How it is worked out: prices of ${answer.region} of ${answer.prices_of}`}>
        <ul className="plan-list" aria-label="Formulas of DynamoDB">
          {answer.bills.flatMap(({ mode, lines }) =>
            lines.map(({ title, formula }) => (
              <li key={`${mode} ${title}`}>
                {MODES[mode] ?? mode}, {title.toLowerCase()}: {formula}
              </li>
            )),
          )}
          <li>Source: {answer.source}</li>
        </ul>
      </Fold>
    </SpaceBetween>
  );
}
