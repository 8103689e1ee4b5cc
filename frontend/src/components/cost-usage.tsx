import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import type { TableProps } from "@cloudscape-design/components/table";
import { useQuery } from "@tanstack/react-query";
import { type Usage, usageQuery } from "../api";
import { CursorTable } from "../table/cursor-table";
import { monthDays, usedAmount } from "../util/costs";
import { lineTitle } from "../util/estimates";
import { lastCursor } from "../util/search";
import { Moment } from "./moment";
import { MonthChoice } from "./month-choice";
import { RouteLink } from "./route-link";

interface Props {
  month: string;
  onMonth: (month: string) => void;
  cursors: string[] | undefined;
  onCursors: (cursors: string[] | undefined) => void;
}

/** What invoices are made of: how much of one thing was used in one hour. */
export function CostUsage({ month, onMonth, cursors, onCursors }: Props) {
  const usage = useQuery(usageQuery(monthDays(month), lastCursor(cursors)));
  return (
    <CursorTable
      noun="usage records"
      variant="container"
      page={usage}
      cursors={cursors}
      onCursors={onCursors}
      columns={COLUMNS}
      header={
        <Header
          variant="h2"
          description="Of closed hours, in their order. Records are only added: a correction is one more, below zero when it takes back."
        >
          Usage records
        </Header>
      }
      filter={<MonthChoice month={month} onMonth={onMonth} />}
      empty={<Box color="inherit">No hour of this month with any usage is closed.</Box>}
    />
  );
}

const COLUMNS: TableProps.ColumnDefinition<Usage>[] = [
  { id: "hour", header: "Hour", minWidth: 160, isRowHeader: true, cell: ({ hour }) => <Moment at={hour} /> },
  { id: "of", header: "Of", minWidth: 160, cell: lineTitle },
  {
    id: "cluster",
    header: "Cluster",
    minWidth: 160,
    cell: ({ cluster_id: clusterId }) =>
      clusterId === "" ? (
        "Of no cluster"
      ) : (
        <RouteLink to="/clusters/$clusterId" params={{ clusterId }} search={{ tab: "costs" }}>
          {clusterId}
        </RouteLink>
      ),
  },
  { id: "place", header: "Place", cell: ({ provider, region }) => [provider, region].filter(Boolean).join(", ") },
  { id: "used", header: "Used", cell: (row) => <span className="nowrap">{usedAmount(row)}</span> },
  {
    id: "sequence",
    header: "Record",
    cell: ({ sequence }) => (sequence === 0 ? "As it was closed" : `Correction ${sequence}`),
  },
];
