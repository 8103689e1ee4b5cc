import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import ProgressBar from "@cloudscape-design/components/progress-bar";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Table from "@cloudscape-design/components/table";
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import type { Catalog, SizingAnswer, SizingShape } from "../api";
import { formatDuration } from "../util/duration";
import { formatDollars } from "../util/money";
import { count, formatBytes } from "../util/size";
import { LIMITS, orderOf, reasonAgainstShape, type SizingSearch } from "../util/sizing";
import { CostLines } from "./cost-lines";

/** Clusters that are large enough, cheapest first; one of them in full. */
export function SizingShapes({
  answer,
  catalog,
  search,
}: {
  answer: SizingAnswer;
  catalog: Catalog;
  search: SizingSearch;
}) {
  const [chosen, setChosen] = useState<string | null>(null);
  const shape = answer.shapes.find(({ machine_type }) => machine_type === chosen) ?? answer.shapes[0];
  return (
    <SpaceBetween size="l">
      <Table
        variant="container"
        wrapLines
        trackBy="machine_type"
        selectionType="single"
        selectedItems={shape ? [shape] : []}
        onSelectionChange={({ detail }) => setChosen(detail.selectedItems[0]?.machine_type ?? null)}
        items={answer.shapes}
        ariaLabels={{
          tableLabel: "Clusters that are large enough",
          selectionGroupLabel: "Cluster",
          itemSelectionLabel: (_, each) => titleOf(each),
        }}
        header={
          <Header variant="h2" description="Of each family of machines one. Choose it to see why.">
            Clusters that are large enough
          </Header>
        }
        empty={
          <SpaceBetween size="xs">
            <Box color="inherit">No cluster of this provider is large enough.</Box>
            <Box color="text-body-secondary">A cluster has at most 1,000 nodes. Split the data over several.</Box>
          </SpaceBetween>
        }
        columnDefinitions={[
          { id: "shape", header: "Cluster", isRowHeader: true, minWidth: 190, cell: titleOf },
          { id: "zones", header: "In each zone", cell: ({ nodes_per_zone }) => count(nodes_per_zone, "node") },
          { id: "month", header: "A month, on demand", minWidth: 150, cell: monthly },
          {
            id: "first",
            header: "First limit",
            minWidth: 150,
            cell: ({ first_limit, limits }) => {
              const first = limits.find(({ limit }) => limit === first_limit);
              return `${LIMITS[first_limit]}, ${first?.headroom_percent ?? 0} % left`;
            },
          },
          {
            id: "recovery",
            header: "A lost node is back in",
            minWidth: 140,
            cell: ({ recovery }) => (recovery ? formatDuration(recovery.seconds) : "Not known"),
          },
        ]}
      />
      {shape && <Shape shape={shape} catalog={catalog} search={search} />}
      <Container header={<Header variant="h2">What this rests on</Header>}>
        <ul className="plan-list" aria-label="What this rests on">
          {answer.assumptions.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
          {answer.calibrated_by && <li>Source: {answer.calibrated_by.source}</li>}
        </ul>
      </Container>
    </SpaceBetween>
  );
}

function Shape({ shape, catalog, search }: { shape: SizingShape; catalog: Catalog; search: SizingSearch }) {
  const router = useRouter();
  const reason = reasonAgainstShape(catalog, search, shape);
  return (
    <Container
      header={
        <Header
          variant="h2"
          actions={
            <Button
              variant="primary"
              disabled={reason !== undefined}
              disabledReason={reason}
              onClick={() => void router.navigate({ to: "/clusters/new", search: orderOf(search, shape) })}
            >
              Order this
            </Button>
          }
        >
          {titleOf(shape)}
        </Header>
      }
    >
      <SpaceBetween size="l">
        <KeyValuePairs
          columns={4}
          items={[
            { label: "A machine", value: `${count(shape.vcpus, "vCPU")}, ${formatBytes(shape.memory_bytes)} memory` },
            { label: "Its disks", value: formatBytes(shape.disk_bytes) },
            {
              label: "A lost node is back in",
              value: shape.recovery ? (
                <Worked title={formatDuration(shape.recovery.seconds)} formula={shape.recovery.formula} />
              ) : (
                "Not known: nobody published how fast it streams"
              ),
            },
            {
              label: "A scan of all rows takes",
              value: shape.scan ? (
                <Worked title={formatDuration(shape.scan.seconds)} formula={shape.scan.formula} />
              ) : (
                "Not known: name a measured speed"
              ),
            },
          ]}
        />
        <div>
          <Box variant="awsui-key-label">Why</Box>
          <ul className="plan-list" aria-label="Why">
            {shape.reasons.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        </div>
        <div>
          <Box variant="awsui-key-label">How much of each limit is used</Box>
          <SpaceBetween size="xs">
            {shape.limits.map(({ limit, needs, holds, headroom_percent, unit }) => (
              <ProgressBar
                key={limit}
                label={LIMITS[limit]}
                value={100 - headroom_percent}
                description={`${amount(needs, unit)} of ${amount(holds, unit)}`}
              />
            ))}
          </SpaceBetween>
        </div>
        <CostLines estimate={shape.estimate} />
      </SpaceBetween>
    </Container>
  );
}

function Worked({ title, formula }: { title: string; formula: string }) {
  return (
    <>
      <div>{title}</div>
      <Box variant="small" color="text-body-secondary">
        {formula}
      </Box>
    </>
  );
}

function titleOf({ nodes, machine_type }: SizingShape): string {
  return `${nodes} × ${machine_type}`;
}

function monthly({ estimate }: SizingShape): string {
  const bill = estimate.bills.find(({ term }) => term === "on_demand");
  return bill ? formatDollars(bill.total.month) : "Price not known";
}

function amount(value: number, unit: string): string {
  if (unit.startsWith("bytes")) return formatBytes(value);
  if (unit === "bits a second") {
    return `${(value / 1e9).toLocaleString("en", { maximumFractionDigits: 2 })} Gbit/s`;
  }
  return `${value.toLocaleString("en")} ${unit}`;
}
