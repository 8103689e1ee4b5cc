import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import Table from "@cloudscape-design/components/table";
import type { FirstBootStep, TuningReport } from "../api";
import { Moment } from "../components/moment";
import { formatDuration } from "../util/duration";

const STEP: Record<FirstBootStep["state"], [StatusIndicatorProps.Type, string]> = {
  succeeded: ["success", "Done"],
  failed: ["error", "Failed"],
  pending: ["pending", "Pending"],
};

/** The steps that made the machine ready, how long each took, and what to do about one that failed. */
export function NodeFirstBoot({ report }: { report: TuningReport }) {
  const boot = report.first_boot;
  if (boot === null) {
    return (
      <Container header={<Header variant="h2">First boot</Header>}>
        <Box color="text-body-secondary">
          {report.environment === "shared"
            ? "Not applicable: this computer is not the node's alone, so the agent leaves it as it is."
            : "The machine has not begun to make itself ready."}
        </Box>
      </Container>
    );
  }
  const failed = boot.steps.find(({ state }) => state === "failed");
  // The first that is not done is the one at work.
  const running = failed ? undefined : boot.steps.find(({ state }) => state === "pending");
  return (
    <SpaceBetween size="s">
      {failed?.error && (
        <Alert type="error" header={`First boot failed: ${failed.error.code}`}>
          <SpaceBetween size="xxs">
            <div>{failed.error.message}</div>
            <div>{failed.error.hint}</div>
          </SpaceBetween>
        </Alert>
      )}
      <Table
        variant="container"
        trackBy="name"
        wrapLines
        items={boot.steps}
        ariaLabels={{ tableLabel: "First boot" }}
        header={
          <Header
            variant="h2"
            counter={`(${formatDuration(boot.duration_ms / 1000)})`}
            description={
              <>
                Begun <Moment at={boot.started_at} />
              </>
            }
          >
            First boot
          </Header>
        }
        columnDefinitions={[
          { id: "step", header: "Step", isRowHeader: true, cell: ({ title }) => title },
          {
            id: "state",
            header: "State",
            cell: (step) => {
              const [type, text] = step === running ? (["in-progress", "Running"] as const) : STEP[step.state];
              return (
                <StatusIndicator type={type} wrapText={false}>
                  {text}
                </StatusIndicator>
              );
            },
          },
          {
            id: "duration",
            header: "Took",
            cell: ({ duration_ms, state }) => (
              <span className="nowrap">{state === "pending" ? "–" : formatDuration(duration_ms / 1000)}</span>
            ),
          },
          { id: "attempts", header: "Tries", cell: ({ attempts }) => attempts || "–" },
          { id: "message", header: "What was done", minWidth: 280, cell: (step) => <Outcome step={step} /> },
        ]}
      />
    </SpaceBetween>
  );
}

function Outcome({ step }: { step: FirstBootStep }) {
  if (step.error) return <StatusIndicator type="error">{`${step.error.code}: ${step.error.message}`}</StatusIndicator>;
  return <>{step.message || "–"}</>;
}
