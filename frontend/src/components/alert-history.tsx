import Box from "@cloudscape-design/components/box";
import DateRangePicker, { type DateRangePickerProps } from "@cloudscape-design/components/date-range-picker";
import Header from "@cloudscape-design/components/header";
import SegmentedControl from "@cloudscape-design/components/segmented-control";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { useState } from "react";
import { type AlertEvent, type AlertsWish, type Cluster, clusterAlertsQuery, useLiveQuery } from "../api";
import { useNow } from "../hooks/use-now";
import { CursorTable } from "../table/cursor-table";
import { chartPiece } from "../util/alert-places";
import { type AlertTime, againstTime, alertTime } from "../util/alert-time";
import { formatDuration, secondsBetween } from "../util/duration";
import { lastCursor } from "../util/search";
import { AlertSubject, LookLink, SEVERITY_OPTIONS, SeverityBadge } from "./alert-parts";
import { Moment } from "./moment";

const SEVERITIES = [
  { id: "", text: "All" },
  ...SEVERITY_OPTIONS.map(({ value, label }) => ({ id: value as string, text: label })),
];

const RANGES: DateRangePickerProps.RelativeOption[] = [
  { key: "day", amount: 1, unit: "day", type: "relative" },
  { key: "week", amount: 1, unit: "week", type: "relative" },
  { key: "month", amount: 30, unit: "day", type: "relative" },
];

/** What has fired in a cluster, from when to when. */
export function AlertHistory({ cluster, nodeNames }: { cluster: Cluster; nodeNames: ReadonlyMap<string, string> }) {
  const [severity, setSeverity] = useState("");
  const [range, setRange] = useState<DateRangePickerProps.Value | null>(null);
  const [time, setTime] = useState<AlertTime>({});
  const [cursors, setCursors] = useState<string[]>([]);
  const wish: AlertsWish = { ...time, ...(severity === "" ? {} : { severity: severity as AlertEvent["severity"] }) };
  const page = useLiveQuery(clusterAlertsQuery(cluster.id, wish, lastCursor(cursors)), ({ items }) =>
    items.some(({ state }) => state === "firing"),
  );
  const now = useNow(30_000);
  return (
    <CursorTable
      noun="alert history"
      variant="container"
      page={page}
      cursors={cursors}
      onCursors={(next) => setCursors(next ?? [])}
      header={
        <Header variant="h2" description="What was silenced, or said by another alert, all the time is not in it.">
          History
        </Header>
      }
      filter={
        <SpaceBetween direction="horizontal" size="m">
          <SegmentedControl
            label="Severity"
            selectedId={severity}
            options={SEVERITIES}
            onChange={({ detail }) => {
              setSeverity(detail.selectedId);
              setCursors([]);
            }}
          />
          <DateRangePicker
            value={range}
            relativeOptions={RANGES}
            placeholder="From the beginning to now"
            i18nStrings={{ ariaLabel: "From when to when" }}
            isValidRange={(value) => {
              const wrong = againstTime(value);
              return wrong === undefined ? { valid: true } : { valid: false, errorMessage: wrong };
            }}
            onChange={({ detail: { value } }) => {
              setRange(value);
              setTime(alertTime(value, Date.now()));
              setCursors([]);
            }}
          />
        </SpaceBetween>
      }
      empty={
        <Box color="inherit">
          {severity === "" && range === null
            ? "Nothing has fired yet."
            : "Nothing fits. Choose another severity or time."}
        </Box>
      }
      columns={[
        {
          id: "severity",
          header: "Severity",
          minWidth: 110,
          cell: (event) => <SeverityBadge severity={event.severity} />,
        },
        { id: "sentence", header: "Alert", isRowHeader: true, minWidth: 220, cell: ({ sentence }) => sentence },
        {
          id: "about",
          header: "About",
          minWidth: 130,
          cell: ({ cluster_id, labels }) => (
            <AlertSubject
              clusterId={cluster_id}
              nodeId={labels.node ?? null}
              nodeName={nodeNames.get(labels.node ?? "") ?? null}
              keyspace={labels.keyspace ?? null}
              table={labels.table ?? null}
            />
          ),
        },
        { id: "from", header: "From", minWidth: 150, cell: ({ starts_at }) => <Moment at={starts_at} /> },
        {
          id: "to",
          header: "To",
          minWidth: 150,
          cell: ({ ends_at }) =>
            ends_at === null ? <StatusIndicator type="warning">Fires</StatusIndicator> : <Moment at={ends_at} />,
        },
        {
          id: "lasted",
          header: "Lasted",
          minWidth: 90,
          cell: ({ starts_at, ends_at }) => formatDuration(secondsBetween(starts_at, ends_at, now)),
        },
        {
          id: "look",
          header: "Look",
          minWidth: 80,
          cell: (event) => (
            <LookLink
              clusterId={event.cluster_id}
              rule={event.rule}
              title={event.sentence}
              time={chartPiece(event.starts_at, event.ends_at, now)}
            />
          ),
        },
      ]}
    />
  );
}
