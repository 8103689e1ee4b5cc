import Container from "@cloudscape-design/components/container";
import ContentLayout from "@cloudscape-design/components/content-layout";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { getRouteApi } from "@tanstack/react-router";
import { operationQuery, useLiveQuery } from "../api";
import { Moment } from "../components/moment";
import { OperationActions } from "../components/operation-actions";
import { OperationSteps, OperationSummary } from "../components/operation-progress";
import { QueryView } from "../components/query-view";
import { RouteLink } from "../components/route-link";
import { OperationStateBadge } from "../components/states";
import { useTitle } from "../hooks/use-title";
import { Copy } from "../ui/copy";
import { formatDuration } from "../util/duration";

const route = getRouteApi("/console/operations/$operationId");

export function OperationPage() {
  const { operationId } = route.useParams();
  const operation = useLiveQuery(operationQuery(operationId), ({ finished_at }) => finished_at === null);
  useTitle(operation.data?.title ?? "Operation", operation.data?.cluster_name || "Operations");

  return (
    <QueryView query={operation} lines={8} title="Operation">
      {(data) => (
        <ContentLayout
          header={
            <Header
              variant="h1"
              description={<OperationStateBadge state={data.state} />}
              actions={<OperationActions operation={data} />}
            >
              {data.title}
            </Header>
          }
        >
          <SpaceBetween size="l">
            <Container>
              <SpaceBetween size="l">
                <OperationSummary operation={data} />
                <KeyValuePairs
                  columns={4}
                  items={[
                    {
                      label: "Cluster",
                      value: data.cluster_id ? (
                        <RouteLink to="/clusters/$clusterId" params={{ clusterId: data.cluster_id }}>
                          {data.cluster_name || data.cluster_id}
                        </RouteLink>
                      ) : (
                        "–"
                      ),
                    },
                    { label: "Asked by", value: data.actor },
                    { label: "Asked", value: <Moment at={data.created_at} /> },
                    { label: "Finished", value: <Moment at={data.finished_at} /> },
                    { label: "Usually takes", value: formatDuration(data.expected_seconds) },
                    { label: "Operation id", value: <Copy value={data.id} label="operation id" /> },
                  ]}
                />
              </SpaceBetween>
            </Container>
            <Container header={<Header variant="h2">Steps</Header>}>
              <OperationSteps operation={data} />
            </Container>
          </SpaceBetween>
        </ContentLayout>
      )}
    </QueryView>
  );
}
