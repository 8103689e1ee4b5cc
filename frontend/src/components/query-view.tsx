import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import Skeleton from "@cloudscape-design/components/skeleton";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ErrorBox } from "./error-box";

/** What a query shows: its data; while it is on the way, grey lines of about its size; else what went wrong. */
export function QueryView<Data>({
  query,
  lines = 4,
  title,
  children,
}: {
  query: UseQueryResult<Data, unknown>;
  lines?: number;
  /** The page's heading until the data brings its own. */
  title?: string;
  children: (data: Data) => ReactNode;
}) {
  if (query.data !== undefined) {
    return (
      <SpaceBetween size="m">
        {/* What was there stays; that it could not be renewed is said. */}
        {query.isError && (
          <ErrorBox header="What you see may be old" error={query.error} onRetry={() => void query.refetch()} />
        )}
        {children(query.data)}
      </SpaceBetween>
    );
  }
  const heading = title && <Header variant="h1">{title}</Header>;
  if (query.isError) {
    return (
      <SpaceBetween size="m">
        {heading}
        <ErrorBox error={query.error} onRetry={() => void query.refetch()} />
      </SpaceBetween>
    );
  }
  return (
    <div role="status" aria-label="Loading">
      <SpaceBetween size="s">
        {heading}
        {Array.from({ length: lines }, (_, line) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all alike and never move
          <Box key={line}>
            <Skeleton variant="text-body-m" width={line % 3 === 2 ? "60%" : "100%"} />
          </Box>
        ))}
      </SpaceBetween>
    </div>
  );
}
