import Box from "@cloudscape-design/components/box";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Table from "@cloudscape-design/components/table";
import { useQuery } from "@tanstack/react-query";
import { type Catalog, type EstimateAnswer, type EstimateOrder, estimateQuery, type ShapeEstimate } from "../api";
import { type Comparison, comparisonsFor } from "../util/estimates";
import { formatDollars, formatMonthlyCost } from "../util/money";
import type { Draft } from "../util/order";
import { CostLines } from "./cost-lines";
import { QueryView } from "./query-view";

/** What applications are to do, as typed. */
export interface LoadDraft {
  reads: string;
  writes: string;
  row: string;
}

/** What an order would cost, with the load that is named, beside the same cluster elsewhere. */
export function OrderCost({
  catalog,
  draft,
  load,
  onLoad,
}: {
  catalog: Catalog;
  draft: Draft;
  load: LoadDraft;
  onLoad: (load: LoadDraft) => void;
}) {
  const nodes = draft.zones.length * draft.nodes_per_zone;
  const shape = {
    provider: draft.provider,
    region: draft.region,
    machine_type: draft.machine_type,
    nodes,
    zones: draft.zones.length,
  };
  const comparisons = comparisonsFor(catalog, shape);
  const body: EstimateOrder | null =
    nodes >= 1 && wrongIn(load) === undefined
      ? { ...shape, load: inNumbers(load), alternatives: comparisons.map(({ shape }) => shape) }
      : null;
  const estimate = useQuery(estimateQuery(body));
  return (
    <Container
      header={
        <Header variant="h2" description="By the price book. Without backups and what goes out to the internet.">
          What it costs
        </Header>
      }
    >
      <SpaceBetween size="l">
        <FormField
          label="Load"
          description="From it comes the traffic across zones. Left at nothing, only machines are counted."
          errorText={wrongIn(load)}
          stretch
        >
          <ColumnLayout columns={3}>
            <LoadField label="Reads a second" value={load.reads} onChange={(reads) => onLoad({ ...load, reads })} />
            <LoadField label="Writes a second" value={load.writes} onChange={(writes) => onLoad({ ...load, writes })} />
            <LoadField label="Bytes of a row" value={load.row} onChange={(row) => onLoad({ ...load, row })} />
          </ColumnLayout>
        </FormField>
        <QueryView query={estimate} lines={4}>
          {(answer) => <Answer answer={answer} comparisons={comparisons} />}
        </QueryView>
      </SpaceBetween>
    </Container>
  );
}

function LoadField({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  return (
    <FormField label={label}>
      <Input type="number" inputMode="numeric" value={value} onChange={({ detail }) => onChange(detail.value)} />
    </FormField>
  );
}

function wrongIn(load: LoadDraft): string | undefined {
  const isRight = Object.values(load).every((value) => value === "" || /^\d+$/.test(value));
  return isRight ? undefined : "Enter whole numbers from 0.";
}

function inNumbers({ reads, writes, row }: LoadDraft) {
  return { reads_per_second: Number(reads), writes_per_second: Number(writes), row_bytes: Number(row) };
}

function Answer({ answer, comparisons }: { answer: EstimateAnswer; comparisons: Comparison[] }) {
  const [first, ...others] = answer.estimates;
  if (!first) return null;
  return (
    <SpaceBetween size="l">
      <CostLines estimate={first} />
      {others.length > 0 && <Elsewhere others={others} comparisons={comparisons} />}
    </SpaceBetween>
  );
}

const KINDS: Record<Comparison["kind"], string> = {
  type: "Another machine type",
  region: "Another region",
  provider: "Another provider",
};

function Elsewhere({ others, comparisons }: { others: ShapeEstimate[]; comparisons: Comparison[] }) {
  const rows = others.map((estimate, number) => ({ number, estimate, kind: comparisons[number]?.kind }));
  return (
    <Table
      variant="embedded"
      contentDensity="compact"
      wrapLines
      trackBy={({ number }) => String(number)}
      items={rows}
      ariaLabels={{ tableLabel: "The same cluster elsewhere" }}
      header={<Header variant="h3">The same cluster elsewhere</Header>}
      columnDefinitions={[
        {
          id: "shape",
          header: "Instead",
          isRowHeader: true,
          minWidth: 220,
          cell: ({ estimate: { nodes, machine_type, region }, kind }) => (
            <>
              <div>{`${nodes} × ${machine_type} in ${region}`}</div>
              <Box variant="small" color="text-body-secondary">
                {kind && KINDS[kind]}
              </Box>
            </>
          ),
        },
        { id: "month", header: "A month, on demand", cell: ({ estimate }) => monthly(estimate) },
        {
          id: "difference",
          header: "Difference a month",
          cell: ({ estimate }) => {
            const difference = onDemand(estimate)?.difference;
            return difference ? formatMonthlyCost(difference.month) : "–";
          },
        },
      ]}
    />
  );
}

function onDemand(estimate: ShapeEstimate) {
  return estimate.bills.find(({ term }) => term === "on_demand");
}

function monthly(estimate: ShapeEstimate): string {
  const bill = onDemand(estimate);
  return bill ? formatDollars(bill.total.month) : "Price not known";
}
