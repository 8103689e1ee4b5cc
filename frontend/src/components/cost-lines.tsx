import Box from "@cloudscape-design/components/box";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Table from "@cloudscape-design/components/table";
import type { EstimateBill, ShapeEstimate } from "../api";
import { Fold } from "../ui/fold";
import { lineTitle, priceNote, TERMS } from "../util/estimates";
import { formatDollars } from "../util/money";

/** What a cluster costs, for each way of buying its machines; the lines of one with their formulas on demand. */
export function CostLines({ estimate }: { estimate: ShapeEstimate }) {
  return (
    <SpaceBetween size="s">
      {estimate.missing.map((sentence) => (
        <StatusIndicator key={sentence} type="warning">
          {sentence}
        </StatusIndicator>
      ))}
      {estimate.bills.length > 0 && (
        <Table
          variant="embedded"
          contentDensity="compact"
          wrapLines
          trackBy="term"
          items={estimate.bills}
          ariaLabels={{ tableLabel: `Costs of ${estimate.nodes} × ${estimate.machine_type} in ${estimate.region}` }}
          columnDefinitions={[
            { id: "term", header: "Machines", isRowHeader: true, minWidth: 160, cell: ({ term }) => TERMS[term] },
            { id: "hour", header: "An hour", cell: ({ total }) => formatDollars(total.hour) },
            { id: "month", header: "A month", cell: ({ total }) => formatDollars(total.month) },
            { id: "year", header: "A year", cell: ({ total }) => formatDollars(total.year) },
            {
              id: "saved",
              header: "Saved a year",
              cell: ({ saved }) => (saved?.year ? formatDollars(saved.year) : "–"),
            },
          ]}
        />
      )}
      {estimate.bills.map((bill) => (
        <Fold key={bill.term} summary={`How it is worked out: ${TERMS[bill.term].toLowerCase()}`}>
          <BillLines bill={bill} />
        </Fold>
      ))}
    </SpaceBetween>
  );
}

function BillLines({ bill }: { bill: EstimateBill }) {
  return (
    <Table
      variant="embedded"
      contentDensity="compact"
      wrapLines
      items={bill.lines}
      ariaLabels={{ tableLabel: `Lines: ${TERMS[bill.term].toLowerCase()}` }}
      columnDefinitions={[
        { id: "item", header: "For", isRowHeader: true, minWidth: 160, cell: (line) => lineTitle(line) },
        {
          id: "formula",
          header: "An hour, in dollars",
          minWidth: 240,
          cell: (line) => (
            <>
              <div>{line.formula}</div>
              <Box variant="small" color="text-body-secondary">
                {priceNote(line)}
              </Box>
            </>
          ),
        },
        { id: "month", header: "A month", cell: ({ amounts }) => formatDollars(amounts.month) },
        { id: "year", header: "A year", cell: ({ amounts }) => formatDollars(amounts.year) },
      ]}
    />
  );
}
