import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import type { ClusterState, NetworkConnection, NodeState, OperationState, StepState } from "../api";

// How each of the API's state words looks. What a state allows is the API's business (`allowed_actions`).

const CLUSTER: Record<ClusterState, [StatusIndicatorProps.Type, string]> = {
  creating: ["in-progress", "Creating"],
  active: ["success", "Active"],
  degraded: ["warning", "Degraded"],
  deleting: ["in-progress", "Deleting"],
  deleted: ["stopped", "Deleted"],
};

const NODE: Record<NodeState, [StatusIndicatorProps.Type, string]> = {
  pending: ["pending", "Pending"],
  starting: ["in-progress", "Starting"],
  joining: ["in-progress", "Joining"],
  up: ["success", "Up"],
  down: ["error", "Down"],
  stopped: ["stopped", "Stopped"],
  unobserved: ["warning", "Not observed"],
  data_lost: ["error", "Data lost"],
  leaving: ["in-progress", "Leaving"],
  deleted: ["stopped", "Deleted"],
};

const CONNECTION: Record<NetworkConnection["state"], [StatusIndicatorProps.Type, string]> = {
  creating: ["in-progress", "Creating"],
  waiting_for_you: ["warning", "Waiting for you"],
  active: ["success", "Active"],
  failed: ["error", "Failed"],
  deleting: ["in-progress", "Deleting"],
  deleted: ["stopped", "Deleted"],
};

const OPERATION: Record<OperationState, [StatusIndicatorProps.Type, string]> = {
  pending: ["pending", "Pending"],
  running: ["in-progress", "Running"],
  blocked: ["warning", "Blocked"],
  paused: ["stopped", "Paused"],
  cancelling: ["in-progress", "Cancelling"],
  succeeded: ["success", "Succeeded"],
  failed: ["error", "Failed"],
  cancelled: ["stopped", "Cancelled"],
};

const STEP: Record<StepState, [StatusIndicatorProps.Type, string]> = {
  pending: ["pending", "Pending"],
  running: ["in-progress", "Running"],
  done: ["success", "Done"],
  undoing: ["in-progress", "Undoing"],
  undone: ["stopped", "Undone"],
  skipped: ["stopped", "Skipped"],
};

export const CLUSTER_STATES = Object.keys(CLUSTER) as ClusterState[];
export const OPERATION_STATES = Object.keys(OPERATION) as OperationState[];

export const CLUSTER_STATE_OPTIONS = options(CLUSTER);
export const OPERATION_STATE_OPTIONS = options(OPERATION);

function options(words: Record<string, [StatusIndicatorProps.Type, string]>): { value: string; label: string }[] {
  return Object.entries(words).map(([value, [, label]]) => ({ value, label }));
}

export function ClusterStateBadge({ state }: { state: ClusterState }) {
  const [type, text] = CLUSTER[state];
  return (
    <StatusIndicator type={type} wrapText={false}>
      {text}
    </StatusIndicator>
  );
}

export function NodeStateBadge({ state }: { state: NodeState }) {
  const [type, text] = NODE[state];
  return (
    <StatusIndicator type={type} wrapText={false}>
      {text}
    </StatusIndicator>
  );
}

export function ConnectionStateBadge({ state }: { state: NetworkConnection["state"] }) {
  const [type, text] = CONNECTION[state];
  return (
    <StatusIndicator type={type} wrapText={false}>
      {text}
    </StatusIndicator>
  );
}

export function OperationStateBadge({ state }: { state: OperationState }) {
  const [type, text] = OPERATION[state];
  return (
    <StatusIndicator type={type} wrapText={false}>
      {text}
    </StatusIndicator>
  );
}

export function stepLook(state: StepState, isInTrouble: boolean): { type: StatusIndicatorProps.Type; text: string } {
  const [type, text] = STEP[state];
  return isInTrouble ? { type: "warning", text: `${text}, in trouble` } : { type, text };
}
