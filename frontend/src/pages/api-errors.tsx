import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Spinner from "@cloudscape-design/components/spinner";
import Table, { type TableProps } from "@cloudscape-design/components/table";
import TextFilter from "@cloudscape-design/components/text-filter";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { descriptionQuery } from "../api";
import { ErrorBox } from "../components/error-box";
import { RouteLink } from "../components/route-link";
import { useTitle } from "../hooks/use-title";
import { countCodes, type ErrorCase, errorCasesOf, matchingCases } from "../util/reference";

const route = getRouteApi("/console/api-reference/errors");

/** Where `docs_url` of an error leads, with its code in the address. */
export function ApiErrorsPage() {
  useTitle("Error codes");
  const navigate = route.useNavigate();
  const { q = "" } = route.useSearch();
  const description = useQuery(descriptionQuery);
  if (description.isError) return <ErrorBox error={description.error} onRetry={() => void description.refetch()} />;
  if (!description.data) return <Spinner size="large" />;
  const all = errorCasesOf(description.data);
  const found = matchingCases(all, q);
  const count = countCodes(found);

  return (
    <Table
      variant="full-page"
      ariaLabels={{ tableLabel: "Error codes" }}
      header={
        <Header
          variant="h1"
          counter={`(${countCodes(all)})`}
          description="Every answer that is not a success has one of them. Codes are stable, and for programs; each has a line for every case that it stands for, and … for what differs within it."
          actions={<RouteLink to="/api-reference">All operations</RouteLink>}
        >
          Error codes
        </Header>
      }
      filter={
        <TextFilter
          filteringText={q}
          filteringPlaceholder="Find error codes"
          filteringAriaLabel="Find error codes"
          filteringClearAriaLabel="Clear"
          countText={q ? `${count} ${count === 1 ? "code" : "codes"}` : undefined}
          onChange={({ detail }) =>
            void navigate({ search: { q: detail.filteringText || undefined }, replace: true, resetScroll: false })
          }
        />
      }
      columnDefinitions={COLUMNS}
      items={found}
      trackBy={({ code, status, says, hint }) => `${code} ${status} ${says} ${hint}`}
      wrapLines
      empty={
        <SpaceBetween size="xs">
          <Box color="text-body-secondary">This version of the API answers no such code.</Box>
          <Link onFollow={() => void navigate({ search: {}, replace: true })}>Show all</Link>
        </SpaceBetween>
      }
    />
  );
}

const COLUMNS: TableProps.ColumnDefinition<ErrorCase>[] = [
  {
    id: "code",
    header: "Code",
    isRowHeader: true,
    minWidth: 220,
    cell: ({ code }) => <Box variant="code">{code}</Box>,
  },
  { id: "status", header: "Status", minWidth: 90, cell: ({ status }) => status },
  { id: "says", header: "Says", minWidth: 260, cell: ({ says }) => says || "Its message says which case it is." },
  {
    id: "hint",
    header: "What to do",
    minWidth: 260,
    cell: ({ hint }) => hint || "Its hint says so, where it has one.",
  },
];
