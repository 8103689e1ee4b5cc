import Box from "@cloudscape-design/components/box";
import Pagination from "@cloudscape-design/components/pagination";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Table, { type TableProps } from "@cloudscape-design/components/table";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ErrorBox } from "../components/error-box";

interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}

interface Props<Item> {
  /** What the table lists, in the plural: "clusters". Named to assistive technology. */
  noun: string;
  page: UseQueryResult<Page<Item>, unknown>;
  columns: TableProps.ColumnDefinition<Item>[];
  header: ReactNode;
  filter?: ReactNode;
  /** Shown when there is nothing; another text when a filter is the reason. */
  empty: ReactNode;
  /** Cursors of the pages before the shown one, from the address; none on the first page. */
  cursors?: string[];
  onCursors?: (cursors: string[] | undefined) => void;
  variant?: TableProps["variant"];
  /** By what the API sorts them: `sortingField` of a column. Without it columns cannot be sorted. */
  sorting?: { column: string; isDescending: boolean; onChange: (column: string, isDescending: boolean) => void };
  preferences?: ReactNode;
}

/** A list of the API, page by page. Cursors only lead forwards, so the address keeps the way back. */
export function CursorTable<Item extends { id: string }>({
  noun,
  page,
  columns,
  header,
  filter,
  empty,
  cursors = [],
  onCursors,
  variant = "full-page",
  sorting,
  preferences,
}: Props<Item>) {
  const next = page.data?.next_cursor ?? null;
  const current = cursors.length + 1;
  const hasPages = onCursors !== undefined && (cursors.length > 0 || next !== null);

  const table = (
    <Table
      variant={variant}
      trackBy="id"
      items={page.data?.items ?? []}
      columnDefinitions={columns}
      loading={page.isPending || page.isPlaceholderData}
      loadingText={`Loading ${noun}`}
      wrapLines
      ariaLabels={{ tableLabel: noun.charAt(0).toUpperCase() + noun.slice(1) }}
      header={header}
      filter={filter}
      preferences={preferences}
      {...(sorting && {
        sortingColumn: { sortingField: sorting.column },
        sortingDescending: sorting.isDescending,
        onSortingChange: ({ detail }: { detail: TableProps.SortingState<Item> }) =>
          sorting.onChange(detail.sortingColumn.sortingField ?? sorting.column, detail.isDescending ?? false),
      })}
      empty={cursors.length > 0 ? <Box color="inherit">Nothing more here. Go back a page.</Box> : empty}
      pagination={
        hasPages && (
          <Pagination
            currentPageIndex={current}
            pagesCount={next === null ? current : current + 1}
            openEnd={next !== null}
            disabled={page.isPlaceholderData}
            onChange={({ detail: { currentPageIndex: wanted } }) => {
              if (wanted <= 1) onCursors(undefined);
              else if (wanted <= current) onCursors(cursors.slice(0, wanted - 1));
              else if (next !== null) onCursors([...cursors, next]);
            }}
            ariaLabels={{
              nextPageLabel: "Next page",
              previousPageLabel: "Previous page",
              pageLabel: (number) => `Page ${number}`,
            }}
          />
        )
      }
    />
  );
  if (!page.isError) return table;
  return (
    <SpaceBetween size="m">
      {page.data === undefined && header}
      <ErrorBox header={`Could not load ${noun}`} error={page.error} onRetry={() => void page.refetch()} />
      {page.data && table}
    </SpaceBetween>
  );
}
