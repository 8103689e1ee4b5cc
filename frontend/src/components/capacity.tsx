import Box from "@cloudscape-design/components/box";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import type { Capacity } from "../api";
import { count } from "../util/size";

/** How many more nodes of a type the cloud's quotas leave room for, and where it cannot be had. */
export function Fits({ capacity, machineType }: { capacity: Capacity; machineType: string }) {
  const found = capacity.machine_types.find(({ name }) => name === machineType);
  if (!found) return <>–</>;
  const { nodes_that_fit: fit, zones_without: without } = found;
  return (
    <>
      {fit === null ? (
        "Not known"
      ) : fit === 0 ? (
        <StatusIndicator type="stopped">None</StatusIndicator>
      ) : (
        count(fit, "node")
      )}
      {without.length > 0 && (
        <Box variant="small" color="text-body-secondary">
          Not in {without.join(", ")}
        </Box>
      )}
    </>
  );
}

/** What the numbers are from, and how sure they are. */
export function CapacityNote({ capacity }: { capacity: Capacity }) {
  return (
    <>
      {capacity.warning && <StatusIndicator type="warning">{capacity.warning}</StatusIndicator>}
      {capacity.quotas.length > 0 && (
        <Box variant="small" color="text-body-secondary">
          Room is what quotas leave. {capacity.quotas.map(inWords).join(" ")} Whether machines are free shows when they
          are made.
        </Box>
      )}
    </>
  );
}

function inWords({ name, limit, used, promised }: Capacity["quotas"][number]): string {
  const coming = promised > 0 ? `, ${promised} promised to nodes being made` : "";
  return `${name}: ${used} of ${limit} used${coming}.`;
}
