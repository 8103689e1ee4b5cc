import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import ProgressBar from "@cloudscape-design/components/progress-bar";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Steps from "@cloudscape-design/components/steps";
import type { Operation, OperationDetail, OperationStep } from "../api";
import { useNow } from "../hooks/use-now";
import { Fold } from "../ui/fold";
import { formatDuration, secondsBetween } from "../util/duration";
import { isInTrouble, type Stage, toStages } from "../util/progress";
import { LinkedText } from "./linked-text";
import { RouteLink } from "./route-link";
import { stepLook } from "./states";

/** How far an operation is: bar, what is being done now, time used and left, and what stands in its way. */
export function OperationSummary({ operation }: { operation: Operation }) {
  const isOpen = operation.finished_at === null;
  const now = useNow(isOpen ? 1000 : 0);
  const used = secondsBetween(operation.created_at, operation.finished_at, now);

  return (
    <SpaceBetween size="m">
      {operation.reason && (
        <Alert
          type={operation.state === "blocked" || isOpen ? "warning" : "error"}
          statusIconAriaLabel={isOpen ? "Warning" : "Error"}
          header={operation.reason.message}
        >
          {operation.reason.hint}
        </Alert>
      )}
      {operation.waits_for && (
        <Alert type="info" statusIconAriaLabel="Waiting">
          Waits for{" "}
          <RouteLink to="/operations/$operationId" params={{ operationId: operation.waits_for.id }}>
            {operation.waits_for.title}
          </RouteLink>
          : {operation.waits_for.reason} It goes on by itself.
        </Alert>
      )}
      {operation.pause_requested && operation.state !== "paused" && (
        <Alert type="info" statusIconAriaLabel="Pausing">
          It is paused as soon as what it has begun is finished.
        </Alert>
      )}
      <ProgressBar
        label={operation.title}
        description={
          isOpen
            ? (operation.current ?? (operation.state === "pending" ? "Waiting for a worker" : undefined))
            : `Took ${formatDuration(used)}`
        }
        additionalInfo={isOpen ? timing(operation, used) : undefined}
        value={Math.round(operation.progress * 100)}
        status={isOpen ? "in-progress" : operation.state === "failed" ? "error" : "success"}
        resultText={RESULT[operation.state]}
      />
    </SpaceBetween>
  );
}

const RESULT: Partial<Record<Operation["state"], string>> = {
  succeeded: "Succeeded",
  failed: "Failed",
  cancelled: "Cancelled and undone",
};

function timing(operation: Operation, used: number): string {
  const parts = [`${formatDuration(Math.floor(used))} so far`];
  if (operation.eta_seconds !== null && operation.eta_seconds > 0)
    parts.push(`about ${formatDuration(Math.ceil(operation.eta_seconds))} left`);
  parts.push(`step ${Math.min(operation.steps_done + 1, operation.steps_total)} of ${operation.steps_total}`);
  return parts.join(" · ");
}

/** Every step of the plan, those of one kind together, each with its nodes and how long it took. */
export function OperationSteps({ operation }: { operation: OperationDetail }) {
  const isOpen = operation.finished_at === null;
  const isBlocked = operation.state === "blocked";
  const now = useNow(isOpen ? 500 : 0);
  return (
    <Steps
      ariaLabel={`Steps of ${operation.title}`}
      steps={toStages(operation.steps).map((stage) => {
        const look = stepLook(stage.state, stage.isInTrouble || (isBlocked && stage.state === "running"));
        return {
          status: look.type,
          statusIconAriaLabel: look.text,
          header: <StageHeader stage={stage} now={now} />,
          details: <StageDetails stage={stage} now={now} />,
        };
      })}
    />
  );
}

function StageHeader({ stage, now }: { stage: Stage; now: number }) {
  const count = stage.steps.length > 1 ? `${stage.done} of ${stage.steps.length} nodes` : stage.steps[0]?.target_title;
  const time = stage.startedAt && formatDuration(secondsBetween(stage.startedAt, stage.finishedAt, now));
  return (
    <>
      {stage.title}{" "}
      <Box variant="span" color="text-body-secondary" fontSize="body-s">
        <span className="step-duration">{[count, time].filter(Boolean).join(" · ")}</span>
      </Box>
    </>
  );
}

function StageDetails({ stage, now }: { stage: Stage; now: number }) {
  if (stage.state === "pending") return null;
  const single = stage.steps.length === 1 ? stage.steps[0] : undefined;
  if (single) {
    if (!single.message || single.state === "done") return null;
    return (
      <Box color="text-body-secondary">
        <LinkedText text={single.message} />
      </Box>
    );
  }
  const nodes = (
    <ul className="step-nodes">
      {stage.steps.map((step) => (
        <li key={step.position}>
          <NodeStep step={step} now={now} />
        </li>
      ))}
    </ul>
  );
  const isMoving = stage.state === "running" || stage.state === "undoing";
  if (isMoving || stage.isInTrouble) return nodes;
  return <Fold summary={`${stage.steps.length} nodes`}>{nodes}</Fold>;
}

function NodeStep({ step, now }: { step: OperationStep; now: number }) {
  const look = stepLook(step.state, isInTrouble(step));
  const message = step.state === "done" ? "" : step.message;
  return (
    <>
      <span>
        <StatusIndicator type={look.type} iconAriaLabel={look.text}>
          {step.target_title || step.title}
        </StatusIndicator>
        {message && (
          <Box fontSize="body-s" color="text-body-secondary">
            {message}
            {step.attempt > 0 && ` (try ${step.attempt + 1})`}
          </Box>
        )}
      </span>
      <Box variant="span" color="text-body-secondary" fontSize="body-s">
        <span className="step-duration">
          {step.started_at && formatDuration(secondsBetween(step.started_at, step.finished_at, now))}
        </span>
      </Box>
    </>
  );
}
