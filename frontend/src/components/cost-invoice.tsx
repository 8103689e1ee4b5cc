import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import type { TableProps } from "@cloudscape-design/components/table";
import { useQuery } from "@tanstack/react-query";
import { type Invoice, type InvoiceLine, invoiceQuery } from "../api";
import { CursorTable } from "../table/cursor-table";
import { shortQuantity } from "../util/costs";
import { lineTitle } from "../util/estimates";
import { formatSpent } from "../util/money";
import { lastCursor } from "../util/search";
import { MonthChoice } from "./month-choice";

type Row = InvoiceLine & { id: string };

interface Props {
  month: string;
  onMonth: (month: string) => void;
  cursors: string[] | undefined;
  onCursors: (cursors: string[] | undefined) => void;
}

/** The lines of a month: one for each thing of each cluster and each price that it had. */
export function CostInvoice({ month, onMonth, cursors, onCursors }: Props) {
  const invoice = useQuery({ ...invoiceQuery(month, lastCursor(cursors)), select: withIds });
  return (
    <CursorTable
      noun="invoice lines"
      variant="container"
      page={invoice}
      cursors={cursors}
      onCursors={onCursors}
      columns={COLUMNS}
      header={
        <Header
          variant="h2"
          counter={invoice.data && `(${invoice.data.lines})`}
          description={invoice.data && `In all ${formatSpent(invoice.data.micros)}. ${state(invoice.data)}`}
        >
          Invoice lines
        </Header>
      }
      filter={<MonthChoice month={month} onMonth={onMonth} />}
      empty={<Box color="inherit">Nothing was used in this month.</Box>}
    />
  );
}

function state({ final }: Pick<Invoice, "final">): string {
  return final ? "The month is over; corrections may still come." : "The month is not over.";
}

function withIds(invoice: Invoice): Omit<Invoice, "items"> & { items: Row[] } {
  const id = ({ cluster, item, provider, region, name, price }: InvoiceLine) =>
    [cluster?.id, item, provider, region, name, price].join(" ");
  return { ...invoice, items: invoice.items.map((line) => ({ ...line, id: id(line) })) };
}

function priceOf({ item, price }: InvoiceLine): string {
  if (price === null) return "None: it is free";
  if (item === "markup") return `${(price / 10_000).toLocaleString("en", { maximumFractionDigits: 4 })} %`;
  return formatSpent(price);
}

const COLUMNS: TableProps.ColumnDefinition<Row>[] = [
  { id: "for", header: "For", isRowHeader: true, minWidth: 160, cell: lineTitle },
  {
    id: "cluster",
    header: "Cluster",
    minWidth: 120,
    cell: ({ cluster }) =>
      cluster === null ? "Of no cluster" : `${cluster.name}${cluster.deleted ? " (deleted)" : ""}`,
  },
  { id: "place", header: "Place", cell: ({ provider, region }) => [provider, region].filter(Boolean).join(", ") },
  {
    id: "quantity",
    header: "Quantity",
    minWidth: 120,
    cell: ({ quantity, unit }) => `${shortQuantity(quantity)} ${unit}`,
  },
  { id: "price", header: "Price of each", minWidth: 140, cell: priceOf },
  { id: "micros", header: "Amount", cell: ({ micros }) => <span className="nowrap">{formatSpent(micros)}</span> },
];
