import Box from "@cloudscape-design/components/box";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import Container from "@cloudscape-design/components/container";
import ExpandableSection from "@cloudscape-design/components/expandable-section";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type Advice, type Cluster, refresh, restoreAdviceMutation } from "../api";
import { Code } from "../ui/code";
import { formatDuration } from "../util/duration";
import { formatMetric } from "../util/metric-units";
import { formatSpent } from "../util/money";
import { ActionButton } from "./action-button";
import { DismissModal, TablePlanModal } from "./advice-modals";
import { ErrorBox } from "./error-box";
import { Moment } from "./moment";
import { RouteLink } from "./route-link";

const SEVERITY: Record<Advice["severity"], [StatusIndicatorProps.Type, string]> = {
  critical: ["error", "Critical"],
  warning: ["warning", "Warning"],
  hint: ["info", "Hint"],
};
const ORDER: Advice["severity"][] = ["critical", "warning", "hint"];

function shown({ value, unit }: Advice["evidence"][number]): string {
  if (unit === "text" || typeof value === "string") return String(value);
  if (unit === "micro-dollars") return formatSpent(value);
  return unit === "seconds" && value >= 120 ? formatDuration(value) : formatMetric(value, unit);
}

/** Each piece of advice with its numbers, the worst first. `ofTable`: they are all about one table. */
export function AdviceList({ cluster, items, ofTable }: { cluster: Cluster; items: Advice[]; ofTable?: boolean }) {
  const sorted = [...items].sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
  return (
    <SpaceBetween size="m">
      {sorted.map((advice) => (
        <AdviceCard key={advice.id} cluster={cluster} advice={advice} ofTable={ofTable ?? false} />
      ))}
    </SpaceBetween>
  );
}

function AdviceCard({ cluster, advice, ofTable }: { cluster: Cluster; advice: Advice; ofTable: boolean }) {
  const [open, setOpen] = useState<"apply" | "dismiss" | null>(null);
  const restore = useMutation({ ...restoreAdviceMutation(), onSuccess: refresh });
  const [type, word] = SEVERITY[advice.severity];
  return (
    <Container
      header={
        <Header
          variant={ofTable ? "h3" : "h2"}
          description={advice.finding}
          actions={
            <SpaceBetween direction="horizontal" size="xs">
              {advice.dismissal ? (
                <ActionButton
                  action="dismiss_advice"
                  allowed={advice.allowed_actions}
                  loading={restore.isPending}
                  ariaLabel={`Show again: ${advice.title}`}
                  onClick={() => restore.mutate({ path: { cluster_id: cluster.id, advice_id: advice.id } })}
                >
                  Show again
                </ActionButton>
              ) : (
                <ActionButton
                  action="dismiss_advice"
                  allowed={advice.allowed_actions}
                  ariaLabel={`Dismiss: ${advice.title}`}
                  onClick={() => setOpen("dismiss")}
                >
                  Dismiss
                </ActionButton>
              )}
              <ActionButton
                action="apply_advice"
                allowed={advice.allowed_actions}
                ariaLabel={`Apply: ${advice.title}`}
                onClick={() => setOpen("apply")}
              >
                Apply
              </ActionButton>
            </SpaceBetween>
          }
        >
          {advice.title}
        </Header>
      }
    >
      <SpaceBetween size="m">
        {restore.error != null && <ErrorBox error={restore.error} />}
        <SpaceBetween direction="horizontal" size="m">
          <StatusIndicator type={type}>{word}</StatusIndicator>
          {!ofTable && <Subject cluster={cluster} advice={advice} />}
          <Box color="text-body-secondary">
            since <Moment at={advice.first_seen_at} />
          </Box>
        </SpaceBetween>
        {advice.dismissal && (
          <Box color="text-body-secondary">
            Dismissed by {advice.dismissal.by}: {advice.dismissal.reason}
            {advice.dismissal.until && (
              <>
                {" "}
                Until <Moment at={advice.dismissal.until} />
              </>
            )}
          </Box>
        )}
        <KeyValuePairs
          columns={4}
          items={advice.evidence.map((each) => ({
            label: each.label,
            value: (
              <>
                {shown(each)} <ToChart cluster={cluster} advice={advice} chart={each.chart} />
              </>
            ),
          }))}
        />
        <ColumnLayout columns={2}>
          <div>
            <Box variant="awsui-key-label">What it wins</Box>
            {advice.gain}
            {advice.formula && (
              <Box fontSize="body-s" color="text-body-secondary">
                A month: {advice.formula}
              </Box>
            )}
            {advice.figure && (
              <Box fontSize="body-s" color="text-body-secondary">
                <Link href={advice.figure.url} external externalIconAriaLabel="Opens in a new tab" fontSize="body-s">
                  {advice.figure.source}
                </Link>
              </Box>
            )}
          </div>
          <div>
            <Box variant="awsui-key-label">What it costs</Box>
            {advice.cost}
          </div>
        </ColumnLayout>
        {advice.statement && (
          <ExpandableSection headerText="What to run">
            <Code content={advice.statement} label={`statement of ${advice.title}`} wrapLines />
          </ExpandableSection>
        )}
      </SpaceBetween>
      {open === "apply" && <TablePlanModal cluster={cluster} advice={advice} onDismiss={() => setOpen(null)} />}
      {open === "dismiss" && <DismissModal cluster={cluster} advice={advice} onDismiss={() => setOpen(null)} />}
    </Container>
  );
}

function Subject({ cluster, advice: { keyspace, table } }: { cluster: Cluster; advice: Advice }) {
  if (keyspace === null) return <span>the cluster</span>;
  if (table === null) return <span>{keyspace}</span>;
  return (
    <RouteLink to="/clusters/$clusterId/tables/$keyspace/$table" params={{ clusterId: cluster.id, keyspace, table }}>
      {keyspace}.{table}
    </RouteLink>
  );
}

function ToChart({ cluster, advice, chart }: { cluster: Cluster; advice: Advice; chart: string }) {
  if (chart === "") return null;
  const { keyspace, table } = advice;
  const words = (
    <Box display="inline" fontSize="body-s">
      Chart
    </Box>
  );
  if (keyspace !== null && table !== null && chart.startsWith("table-")) {
    return (
      <RouteLink to="/clusters/$clusterId/tables/$keyspace/$table" params={{ clusterId: cluster.id, keyspace, table }}>
        {words}
      </RouteLink>
    );
  }
  return (
    <RouteLink to="/clusters/$clusterId" params={{ clusterId: cluster.id }} search={{ tab: "dashboards" }}>
      {words}
    </RouteLink>
  );
}
