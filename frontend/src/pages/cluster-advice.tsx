import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import Pagination from "@cloudscape-design/components/pagination";
import SegmentedControl from "@cloudscape-design/components/segmented-control";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type AdvicePage, adviceQuery, type Cluster, refresh, reviewClusterMutation, useLiveQuery } from "../api";
import { ActionButton } from "../components/action-button";
import { AdviceList } from "../components/advice-list";
import { ErrorBox } from "../components/error-box";
import { Moment } from "../components/moment";
import { QueryView } from "../components/query-view";
import { TableChanges } from "../components/table-changes";
import { lastCursor } from "../util/search";

type Shown = "all" | "critical" | "warning" | "hint" | "dismissed";

/** What could be better about a cluster and its tables; what was done about it. */
export function ClusterAdvice({ cluster }: { cluster: Cluster }) {
  const [shown, setShown] = useState<Shown>("all");
  const [cursors, setCursors] = useState<string[]>([]);
  const wish = shown === "dismissed" ? { dismissed: true } : shown === "all" ? {} : { severity: shown };
  const advice = useLiveQuery(adviceQuery(cluster.id, wish, lastCursor(cursors)), ({ review }) => review.waiting);
  const look = useMutation({ ...reviewClusterMutation(), onSuccess: refresh });
  return (
    <QueryView query={advice} lines={6}>
      {(page) => (
        <SpaceBetween size="l">
          <Header
            variant="h2"
            description={<Looked page={page} />}
            actions={
              <ActionButton
                action="review_cluster"
                allowed={page.allowed_actions}
                loading={look.isPending || page.review.waiting}
                loadingText="Looking"
                onClick={() => look.mutate({ path: { cluster_id: cluster.id } })}
              >
                Look again
              </ActionButton>
            }
          >
            Advice
          </Header>
          {look.error != null && <ErrorBox error={look.error} />}
          {page.review.problem && (
            <Alert type="warning" header="The last look came to nothing">
              {page.review.problem} What is listed is from before.
            </Alert>
          )}
          <SegmentedControl
            label="Which advice"
            selectedId={shown}
            options={[
              { id: "all", text: "All" },
              { id: "critical", text: `Critical (${page.counts.critical ?? 0})` },
              { id: "warning", text: `Warnings (${page.counts.warning ?? 0})` },
              { id: "hint", text: `Hints (${page.counts.hint ?? 0})` },
              { id: "dismissed", text: `Dismissed (${page.dismissed})` },
            ]}
            onChange={({ detail }) => {
              setShown(detail.selectedId as Shown);
              setCursors([]);
            }}
          />
          {page.items.length === 0 ? (
            <Box textAlign="center" color="text-body-secondary" padding="l">
              {page.review.computed_at ? "There is nothing to say." : "The cluster was not looked at yet."}
            </Box>
          ) : (
            <AdviceList cluster={cluster} items={page.items} />
          )}
          {(cursors.length > 0 || page.next_cursor !== null) && (
            <Pagination
              currentPageIndex={cursors.length + 1}
              pagesCount={cursors.length + (page.next_cursor === null ? 1 : 2)}
              openEnd={page.next_cursor !== null}
              ariaLabels={{ nextPageLabel: "Next page", previousPageLabel: "Previous page" }}
              onChange={({ detail: { currentPageIndex: wanted } }) => {
                if (wanted <= cursors.length + 1) setCursors(cursors.slice(0, wanted - 1));
                else if (page.next_cursor !== null) setCursors([...cursors, page.next_cursor]);
              }}
            />
          )}
          <TableChanges cluster={cluster} />
        </SpaceBetween>
      )}
    </QueryView>
  );
}

function Looked({ page: { review } }: { page: AdvicePage }) {
  if (review.computed_at === null) return <>By rules, from metrics and schema.</>;
  const hours = (review.window_seconds ?? 0) / 3600;
  return (
    <>
      By rules, from the numbers of the last {hours >= 1 ? `${hours} hours` : "half hour"} and the schema. Looked at{" "}
      <Moment at={review.computed_at} />.
    </>
  );
}
