import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useQuery } from "@tanstack/react-query";
import { type CostChanges, type CostForecast, costChangesQuery, costForecastQuery } from "../api";
import { formatSpent } from "../util/money";
import { Moment } from "./moment";
import { QueryView } from "./query-view";

/** Where the running month is going, and what is otherwise than in the month before, in words. */
export function CostOutlook({ clusterId }: { clusterId?: string }) {
  const forecast = useQuery(costForecastQuery(clusterId));
  const changes = useQuery(costChangesQuery(clusterId));
  return (
    <Container header={<Header variant="h2">This month</Header>}>
      <SpaceBetween size="l">
        <QueryView query={forecast} lines={2}>
          {(data) => <Forecast forecast={data} />}
        </QueryView>
        <QueryView query={changes} lines={2}>
          {(data) => <Changes changes={data} />}
        </QueryView>
      </SpaceBetween>
    </Container>
  );
}

function Forecast({ forecast }: { forecast: CostForecast }) {
  return (
    <KeyValuePairs
      columns={4}
      items={[
        { label: "Spent so far", value: formatSpent(forecast.spent) },
        {
          label: "By its end, if it goes on so",
          // Before the first hour is counted nobody knows what an hour costs.
          value: forecast.hourly === 0 && forecast.spent === 0 ? "–" : formatSpent(forecast.forecast),
        },
        { label: "Last seven days", value: `${formatSpent(forecast.last_seven_days)}${trend(forecast.trend)}` },
        { label: "Counted until", value: <Moment at={forecast.until} /> },
      ]}
    />
  );
}

function trend(share: number | null): string {
  if (share === null || Math.abs(share) < 0.005) return "";
  return `, ${Math.abs(Math.round(share * 100))} % ${share > 0 ? "more" : "less"} than the seven before`;
}

function Changes({ changes: { text, items, left_out: leftOut } }: { changes: CostChanges }) {
  return (
    <div>
      <Box variant="awsui-key-label">Since last month</Box>
      <Box>{text}</Box>
      {items.length > 0 && (
        <ul className="plan-list">
          {items.map((change) => (
            <li key={change.text}>{change.text}</li>
          ))}
          {leftOut !== 0 && <li>Smaller changes: {formatSpent(leftOut)}.</li>}
        </ul>
      )}
    </div>
  );
}
