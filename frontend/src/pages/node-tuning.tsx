import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import Table from "@cloudscape-design/components/table";
import type { TuningCheck, TuningReport } from "../api";
import { Moment } from "../components/moment";
import { formatBytes } from "../util/size";

const STATUS: Record<TuningCheck["status"], [StatusIndicatorProps.Type, string]> = {
  pass: ["success", "Pass"],
  fail: ["error", "Fail"],
  "not-applicable": ["info", "Not applicable"],
};
const ENVIRONMENT: Record<TuningReport["environment"], string> = {
  machine: "Its own machine",
  container: "A container",
  shared: "A shared computer, left as it is",
};
// What needs somebody comes first.
const ORDER: TuningCheck["status"][] = ["fail", "pass", "not-applicable"];

/** The checklist of the machine: what was found, what is wanted, and what a failure costs. */
export function NodeTuningReport({ report, checkedAt }: { report: TuningReport; checkedAt: string }) {
  const checks = ORDER.flatMap((wanted) => report.checks.filter(({ status }) => status === wanted));
  const count = (wanted: TuningCheck["status"]) => report.checks.filter(({ status }) => status === wanted).length;
  const drifted = report.checks.filter((check) => check.drifted);
  return (
    <SpaceBetween size="l">
      <Figures report={report} />
      {drifted.length > 0 && (
        <Alert type="warning" header="Not tuned as it was after its first boot">
          {drifted.map(({ title }) => title).join(", ")}: passed before, and fails now.
        </Alert>
      )}
      <Table
        variant="container"
        trackBy="name"
        wrapLines
        items={checks}
        ariaLabels={{ tableLabel: "Tuning report" }}
        header={
          <Header
            variant="h2"
            counter={`(${count("pass")} pass, ${count("fail")} fail, ${count("not-applicable")} not applicable)`}
            description={
              <>
                Checked <Moment at={checkedAt} />, about once an hour.
              </>
            }
          >
            Tuning report
          </Header>
        }
        columnDefinitions={[
          { id: "check", header: "Check", isRowHeader: true, cell: ({ title }) => title },
          { id: "status", header: "Result", cell: (check) => <Result check={check} /> },
          { id: "found", header: "Found", cell: ({ found }) => found || "–" },
          { id: "wanted", header: "Wanted", cell: ({ wanted }) => wanted || "–" },
          {
            id: "cost",
            header: "What a failure costs",
            minWidth: 280,
            cell: ({ status, cost, reason }) =>
              status === "not-applicable" ? <Box color="text-body-secondary">{reason}</Box> : cost,
          },
        ]}
      />
    </SpaceBetween>
  );
}

function Result({ check }: { check: TuningCheck }) {
  const [type, text] = STATUS[check.status];
  return (
    <>
      <StatusIndicator type={type} wrapText={false}>
        {text}
      </StatusIndicator>
      {check.drifted && (
        <Box fontSize="body-s" color="text-body-secondary">
          passed before
        </Box>
      )}
    </>
  );
}

function Figures({ report: { environment, pins, io, warnings } }: { report: TuningReport }) {
  return (
    <Container header={<Header variant="h2">Processors and disks</Header>}>
      <SpaceBetween size="m">
        {warnings.map(({ code, message }) => (
          <Alert key={code} type="warning">
            {message}
          </Alert>
        ))}
        <KeyValuePairs
          columns={4}
          items={[
            { label: "Runs on", value: ENVIRONMENT[environment] },
            { label: "Hardware threads", value: pins?.cpus ?? "–" },
            { label: "CPUs for interrupts", value: pins?.irq ?? "–" },
            { label: "CPUs for shards", value: pins ? `${pins.shards} (${pins.n_shards} shards)` : "–" },
            { label: "Disk figures from", value: io ? SOURCE[io.source] : "–" },
            { label: "Reads", value: io ? rate(io.read_iops, io.read_bandwidth) : "–" },
            { label: "Writes", value: io ? rate(io.write_iops, io.write_bandwidth) : "–" },
          ]}
        />
      </SpaceBetween>
    </Container>
  );
}

const SOURCE: Record<string, string> = {
  preset: "Preset of the machine type",
  "control-plane": "The cluster's own figures",
};

function rate(iops: number, bandwidth: number): string {
  return `${iops.toLocaleString("en")} per s, ${formatBytes(bandwidth)}/s`;
}
