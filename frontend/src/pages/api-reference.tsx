import Badge from "@cloudscape-design/components/badge";
import Box from "@cloudscape-design/components/box";
import ExpandableSection from "@cloudscape-design/components/expandable-section";
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
import { matching, type Operation, operationsOf } from "../util/reference";

const route = getRouteApi("/console/api-reference");

export function ApiReferencePage() {
  useTitle("API reference");
  const navigate = route.useNavigate();
  const { q = "" } = route.useSearch();
  const description = useQuery(descriptionQuery);
  if (description.isError) return <ErrorBox error={description.error} onRetry={() => void description.refetch()} />;
  if (!description.data) return <Spinner size="large" />;
  const all = operationsOf(description.data);
  const found = matching(all, q);
  const groups = description.data.tags.filter(({ name }) => found.some((one) => one.tag === name));

  return (
    <SpaceBetween size="m">
      <Header
        variant="h1"
        description="Every operation of this installation's API, to read and to try."
        counter={`(${all.length})`}
        actions={
          <SpaceBetween direction="horizontal" size="m">
            <RouteLink to="/api-reference/errors">Error codes</RouteLink>
            <Link href="/api/v1/openapi.json" external externalIconAriaLabel="Opens in a new tab">
              OpenAPI 3.1
            </Link>
          </SpaceBetween>
        }
      >
        API reference
      </Header>
      <ExpandableSection headerText="What holds for all of them">
        <Box variant="div">
          {description.data.info.description.split("\n\n").map((text) => (
            <Box key={text} variant="p">
              {text}
            </Box>
          ))}
        </Box>
      </ExpandableSection>
      <TextFilter
        filteringText={q}
        filteringPlaceholder="Find operations"
        filteringAriaLabel="Find operations"
        filteringClearAriaLabel="Clear"
        countText={q ? `${found.length} ${found.length === 1 ? "operation" : "operations"}` : undefined}
        onChange={({ detail }) =>
          void navigate({ search: { q: detail.filteringText || undefined }, replace: true, resetScroll: false })
        }
      />
      {groups.length === 0 && <Box color="text-body-secondary">No operation has all of these words.</Box>}
      {groups.map(({ name, description: about }) => {
        const items = found.filter((one) => one.tag === name);
        return (
          <ExpandableSection
            // What is searched for is open; opened by hand stays open while nothing is.
            key={`${name} ${q !== ""}`}
            headerText={name[0]?.toUpperCase() + name.slice(1)}
            headerCounter={`(${items.length})`}
            headerDescription={about}
            variant="container"
            defaultExpanded={q !== ""}
          >
            <Table
              variant="embedded"
              ariaLabels={{ tableLabel: name }}
              columnDefinitions={COLUMNS}
              items={items}
              trackBy="id"
              wrapLines
            />
          </ExpandableSection>
        );
      })}
    </SpaceBetween>
  );
}

const COLUMNS: TableProps.ColumnDefinition<Operation>[] = [
  {
    id: "id",
    header: "Operation",
    isRowHeader: true,
    minWidth: 220,
    cell: ({ id, deprecated }) => (
      <>
        <RouteLink to="/api-reference/$operation" params={{ operation: id }}>
          {id}
        </RouteLink>{" "}
        {deprecated && <Badge color="severity-medium">deprecated</Badge>}
      </>
    ),
  },
  {
    id: "address",
    header: "Address",
    minWidth: 300,
    cell: ({ method, path }) => (
      <Box variant="code">
        {method} {path}
      </Box>
    ),
  },
  { id: "what", header: "What it does", minWidth: 260, cell: ({ description }) => description.split("\n")[0] },
];
