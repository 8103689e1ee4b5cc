import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";

/** What stands against an order. */
export function PlanProblems({ problems }: { problems: string[] }) {
  return problems.map((problem) => (
    <Alert key={problem} type="error" statusIconAriaLabel="Error">
      {problem}
    </Alert>
  ));
}

/** What is done, in this order. */
export function PlanSteps({ steps }: { steps: string[] }) {
  return (
    <Box>
      <Box variant="awsui-key-label">What is done</Box>
      <ol className="plan-list" aria-label="What is done">
        {steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
    </Box>
  );
}
