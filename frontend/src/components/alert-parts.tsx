import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import type { ReactNode } from "react";
import type { FiringAlert } from "../api";
import { whereToLook } from "../util/alert-places";
import { RouteLink } from "./route-link";

export type AlertSeverity = FiringAlert["severity"];

const SEVERITY: Record<AlertSeverity, [StatusIndicatorProps.Type, string]> = {
  critical: ["error", "Critical"],
  warning: ["warning", "Warning"],
  info: ["info", "Info"],
};

export const SEVERITY_OPTIONS = (Object.keys(SEVERITY) as AlertSeverity[]).map((value) => ({
  value,
  label: SEVERITY[value][1],
}));

export function SeverityBadge({ severity }: { severity: AlertSeverity }) {
  const [type, word] = SEVERITY[severity];
  return (
    <StatusIndicator type={type} wrapText={false}>
      {word}
    </StatusIndicator>
  );
}

/** Whom an alert is about, with a link to its page. */
export function AlertSubject({
  clusterId,
  nodeId,
  nodeName,
  keyspace,
  table,
}: {
  clusterId: string;
  nodeId: string | null;
  nodeName: string | null;
  keyspace: string | null;
  table: string | null;
}) {
  if (nodeId !== null && nodeName !== null)
    return (
      <RouteLink to="/clusters/$clusterId/nodes/$nodeId" params={{ clusterId, nodeId }}>
        {nodeName}
      </RouteLink>
    );
  if (keyspace !== null && table !== null)
    return (
      <RouteLink to="/clusters/$clusterId/tables/$keyspace/$table" params={{ clusterId, keyspace, table }}>
        {keyspace}.{table}
      </RouteLink>
    );
  return <>{nodeId === null ? "the cluster" : "a node that is gone"}</>;
}

/** The page that shows what a rule looks at; `time`: the piece of its charts, in seconds since 1970. */
export function LookLink({
  clusterId,
  rule,
  title,
  time,
}: {
  clusterId: string;
  rule: string;
  title: string;
  time?: { from: number; to: number };
}): ReactNode {
  const place = whereToLook(rule);
  if (place === undefined) return null;
  const search = "tab" in place ? { tab: place.tab } : { tab: "dashboards" as const, ...place, ...time };
  return (
    <RouteLink to="/clusters/$clusterId" params={{ clusterId }} search={search} ariaLabel={`${place.label}: ${title}`}>
      {place.label}
    </RouteLink>
  );
}
