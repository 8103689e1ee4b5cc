import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import { getRouteApi } from "@tanstack/react-router";
import { type Cluster, clusterFindingsQuery, type Finding, useLiveQuery } from "../api";
import { Moment } from "../components/moment";
import { RouteLink } from "../components/route-link";
import { useNow } from "../hooks/use-now";
import { CursorTable } from "../table/cursor-table";
import { lastCursor } from "../util/search";

const route = getRouteApi("/console/clusters/$clusterId");

const SEVERITY: Record<Finding["severity"], StatusIndicatorProps.Type> = {
  info: "info",
  warning: "warning",
  critical: "error",
};

/** What the control plane found to be wrong by itself, what it did about it and why. */
export function ClusterFindings({ cluster }: { cluster: Cluster }) {
  const { found } = route.useSearch();
  const navigate = route.useNavigate();
  const now = useNow(30_000);
  const findings = useLiveQuery(clusterFindingsQuery(cluster.id, lastCursor(found)), ({ items }) =>
    items.some(({ state }) => state === "open"),
  );
  return (
    <CursorTable
      noun="findings"
      variant="container"
      page={findings}
      cursors={found}
      onCursors={(cursors) => void navigate({ search: (before) => ({ ...before, found: cursors }) })}
      header={
        <Header variant="h2" description="Seen by the control plane itself, with what it did.">
          Findings
        </Header>
      }
      empty={<Box color="inherit">Nothing was found to be wrong.</Box>}
      columns={[
        {
          id: "severity",
          header: "State",
          cell: (finding) => (
            <StatusIndicator type={finding.state === "open" ? SEVERITY[finding.severity] : "success"} wrapText={false}>
              {finding.state === "open" ? "Open" : "Over"}
            </StatusIndicator>
          ),
        },
        { id: "subject", header: "What", isRowHeader: true, cell: ({ subject_name }) => subject_name },
        { id: "sentence", header: "Found", minWidth: 280, cell: (finding) => <Found finding={finding} /> },
        { id: "action", header: "Done about it", minWidth: 240, cell: (finding) => <Done finding={finding} /> },
        { id: "first", header: "Since", cell: ({ first_seen_at }) => <Moment at={first_seen_at} now={now} /> },
        { id: "closed", header: "Over", cell: ({ closed_at }) => <Moment at={closed_at} now={now} /> },
      ]}
    />
  );
}

function Found({ finding }: { finding: Finding }) {
  return (
    <>
      {finding.sentence}
      {finding.hint && finding.state === "open" && (
        <Box fontSize="body-s" color="text-body-secondary">
          {finding.hint}
        </Box>
      )}
    </>
  );
}

function Done({ finding }: { finding: Finding }) {
  return (
    <>
      {finding.action || "–"}{" "}
      {finding.operation_id && (
        <RouteLink to="/operations/$operationId" params={{ operationId: finding.operation_id }}>
          Operation
        </RouteLink>
      )}
    </>
  );
}
