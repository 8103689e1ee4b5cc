import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import Table from "@cloudscape-design/components/table";
import type { DiskMeasurement, TuningReport } from "../api";
import { Moment } from "../components/moment";
import { formatBytes } from "../util/size";

const VERDICT: Record<DiskMeasurement["verdict"], [StatusIndicatorProps.Type, string]> = {
  stable: ["success", "Stable"],
  usable: ["info", "Usable"],
  noisy: ["warning", "Noisy"],
};
const FIGURES = [
  { id: "read_iops", title: "Random reads", format: perSecond },
  { id: "read_bandwidth", title: "Sequential reads", format: bytesPerSecond },
  { id: "write_iops", title: "Random writes", format: perSecond },
  { id: "write_bandwidth", title: "Sequential writes", format: bytesPerSecond },
] as const;

/** What fio found the disks to do, beside what the engine was told of them. */
export function NodeDisks({ disks, told }: { disks: DiskMeasurement | null; told: TuningReport["io"] }) {
  if (disks === null) {
    return (
      <Container header={<Header variant="h2">Measured disks</Header>}>
        <Box color="text-body-secondary">
          Never measured. "Measure disks" in the menu does it, while the node is down for some minutes.
        </Box>
      </Container>
    );
  }
  const { cluster, figures, measured_at, verdict, warnings } = disks;
  return (
    <Table
      variant="container"
      trackBy="id"
      wrapLines
      items={FIGURES}
      ariaLabels={{ tableLabel: "Measured disks" }}
      header={
        <Header
          variant="h2"
          description={
            <>
              Measured <Moment at={measured_at} />. <Words verdict={verdict} />
            </>
          }
        >
          Measured disks
        </Header>
      }
      footer={warnings.map((warning) => (
        <Alert key={warning} type="warning">
          {warning}
        </Alert>
      ))}
      columnDefinitions={[
        { id: "figure", header: "Figure", isRowHeader: true, cell: ({ title }) => title },
        { id: "measured", header: "Measured", cell: ({ id, format }) => format(figures[id].median) },
        { id: "spread", header: "Spread of rounds", cell: ({ id }) => `${(figures[id].spread * 100).toFixed(1)} %` },
        {
          id: "cluster",
          header: cluster ? `Median of ${cluster.nodes} measured here` : "Median of the cluster",
          cell: ({ id, format }) => (cluster ? format(cluster[id]) : "–"),
        },
        { id: "told", header: "The engine was told", cell: ({ id, format }) => (told ? format(told[id]) : "–") },
      ]}
    />
  );
}

function Words({ verdict }: { verdict: DiskMeasurement["verdict"] }) {
  const [type, text] = VERDICT[verdict];
  return <StatusIndicator type={type}>{text}</StatusIndicator>;
}

function perSecond(iops: number): string {
  return `${Math.round(iops).toLocaleString("en")} per s`;
}

function bytesPerSecond(bandwidth: number): string {
  return `${formatBytes(bandwidth)}/s`;
}
