import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { getRouteApi } from "@tanstack/react-router";
import { type OperationState, operationsQuery, useLiveQuery } from "../api";
import { OPERATION_STATE_OPTIONS } from "../components/states";
import { useNow } from "../hooks/use-now";
import { useTitle } from "../hooks/use-title";
import { CursorTable } from "../table/cursor-table";
import { operationColumns } from "../table/operation-columns";
import { lastCursor } from "../util/search";

const route = getRouteApi("/console/operations");

const ANY = { value: "", label: "Any state" };

export function OperationsPage() {
  useTitle("Operations");
  const navigate = route.useNavigate();
  const { after, state } = route.useSearch();
  const now = useNow(30_000);
  const operations = useLiveQuery(operationsQuery({ state, cursor: lastCursor(after) }), ({ items }) =>
    items.some(({ finished_at }) => finished_at === null),
  );
  const options = [ANY, ...OPERATION_STATE_OPTIONS];

  return (
    <CursorTable
      noun="operations"
      page={operations}
      columns={operationColumns(now)}
      cursors={after}
      onCursors={(cursors) => void navigate({ search: { state, after: cursors } })}
      header={
        <Header variant="h1" description="Everything slow that was asked for, and how it went.">
          Operations
        </Header>
      }
      filter={
        <Select
          ariaLabel="Filter by state"
          selectedOption={options.find(({ value }) => value === state) ?? ANY}
          options={options}
          onChange={({ detail }) =>
            void navigate({
              search: { state: (detail.selectedOption.value || undefined) as OperationState | undefined },
              replace: true,
            })
          }
        />
      }
      empty={
        state ? (
          <SpaceBetween size="m" alignItems="center">
            <Box color="inherit">No operation is in this state.</Box>
            <Button onClick={() => void navigate({ search: {}, replace: true })}>Clear filter</Button>
          </SpaceBetween>
        ) : (
          <Box color="inherit">No operations yet.</Box>
        )
      }
    />
  );
}
