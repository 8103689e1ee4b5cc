import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Table from "@cloudscape-design/components/table";
import type { RestorePlan } from "../api";
import { formatDuration } from "../util/duration";
import { count, formatBytes } from "../util/size";
import { PlanProblems, PlanSteps } from "./plan-parts";

/** What a restore would do, what it needs on each node, and all that is against it. */
export function PlanOf({ plan }: { plan: RestorePlan }) {
  return (
    <SpaceBetween size="s">
      <PlanProblems problems={plan.problems} />
      {plan.warnings.map((warning) => (
        <Alert key={warning} type="warning" statusIconAriaLabel="Warning">
          {warning}
        </Alert>
      ))}
      <KeyValuePairs
        columns={4}
        items={[
          { label: "To fetch, of all nodes", value: formatBytes(plan.bytes) },
          { label: "Files", value: plan.bundles.toLocaleString("en") },
          { label: "Tables", value: count(plan.tables.length, "table") },
          {
            label: "Takes about",
            value: plan.estimated_seconds === null ? "Not known yet" : formatDuration(plan.estimated_seconds),
          },
        ]}
      />
      {plan.nodes.length > 0 && (
        <Table
          variant="embedded"
          trackBy="name"
          items={plan.nodes}
          ariaLabels={{ tableLabel: "Nodes" }}
          columnDefinitions={[
            { id: "name", header: "Node", isRowHeader: true, cell: ({ name }) => name },
            { id: "bytes", header: "To fetch", cell: ({ bytes }) => formatBytes(bytes) },
            {
              id: "free",
              header: "Free on its disk",
              cell: ({ free_bytes }) => (free_bytes === null ? "Not known yet" : formatBytes(free_bytes)),
            },
          ]}
        />
      )}
      <PlanSteps steps={plan.steps} />
      {plan.differences
        .filter(({ fatal }) => !fatal)
        .map(({ table, difference }) => (
          <Box key={table + difference} color="text-body-secondary">
            {table}: {difference}
          </Box>
        ))}
    </SpaceBetween>
  );
}
