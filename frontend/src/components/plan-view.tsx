import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { Plan, PlannedChange } from "../api";
import { Fold } from "../ui/fold";
import { formatDuration } from "../util/duration";
import { formatMonthlyCost } from "../util/money";
import { count } from "../util/size";

const MODE: Record<PlannedChange["mode"], string> = {
  nothing: "Nothing changes",
  in_place: "In place, nothing is restarted",
  rolling: "Rolling, one node at a time",
  membership: "Nodes join or leave, one at a time",
  not_possible: "Not possible now",
};

/** What a change would do, in words, before anybody confirms it. */
export function PlanView({ plan }: { plan: Plan }) {
  if (plan.changes.length === 0)
    return (
      <Alert type="info" statusIconAriaLabel="Information">
        Everything is as wanted already: there is nothing to do.
      </Alert>
    );
  return (
    <SpaceBetween size="l">
      {plan.changes.map((change) => (
        <PlannedChangeView key={`${change.kind} ${change.title}`} change={change} />
      ))}
    </SpaceBetween>
  );
}

function PlannedChangeView({ change }: { change: PlannedChange }) {
  if (change.reason !== null)
    return (
      <Alert type="warning" statusIconAriaLabel="Not possible" header={change.reason}>
        {change.hint}
      </Alert>
    );
  return (
    <SpaceBetween size="s">
      <KeyValuePairs
        columns={3}
        items={[
          { label: "How", value: MODE[change.mode] },
          { label: "Takes about", value: formatDuration(change.expected_seconds) },
          { label: "Cost per month", value: formatMonthlyCost(change.cost_per_month_micros) },
        ]}
      />
      {change.impact.length > 0 && (
        <div>
          <Box variant="awsui-key-label">What the application will notice</Box>
          <ul className="plan-list">
            {change.impact.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        </div>
      )}
      {change.warnings.map((sentence) => (
        <Alert key={sentence} type="warning" statusIconAriaLabel="Warning">
          {sentence}
        </Alert>
      ))}
      <Box color="text-body-secondary" fontSize="body-s">
        {change.cancellable}
      </Box>
      <Fold summary={`${count(change.steps_total, "step")} on ${count(change.nodes_touched.length, "node")}`}>
        <ol className="plan-list">
          {change.steps.map((step, position) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the same work may come again, and the list never moves
            <li key={position}>
              {step.title}
              {step.nodes.length > 0 && (
                <Box variant="span" color="text-body-secondary" fontSize="body-s">
                  {" "}
                  {step.nodes.join(", ")}
                </Box>
              )}
            </li>
          ))}
        </ol>
      </Fold>
    </SpaceBetween>
  );
}
