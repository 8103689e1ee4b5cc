import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { useMutation } from "@tanstack/react-query";
import { type Cluster, type LogArchive, logArchiveQuery, refresh, setLogArchiveMutation, useLiveQuery } from "../api";
import { formatDuration } from "../util/duration";
import { utcText } from "../util/moment-text";
import { formatBytes } from "../util/size";
import { ActionButton } from "./action-button";
import { ErrorBox } from "./error-box";
import { QueryView } from "./query-view";

/** Whether commit logs are archived, how far they are, and the moments that the cluster can be restored to. */
export function LogArchiveCard({ cluster }: { cluster: Cluster }) {
  const archive = useLiveQuery(logArchiveQuery(cluster.id), ({ enabled }) => enabled);
  const set = useMutation({ ...setLogArchiveMutation(), onSuccess: () => refresh() });
  return (
    <QueryView query={archive} lines={3}>
      {(data) => (
        <Container
          header={
            <Header
              variant="h2"
              description="With the commit logs a restore can stop at any second after a backup."
              actions={
                <ActionButton
                  action="set_log_archive"
                  allowed={data.allowed_actions}
                  loading={set.isPending}
                  onClick={() =>
                    set.mutate({
                      path: { cluster_id: cluster.id },
                      body: {
                        enabled: !data.enabled,
                        keep_days: data.keep_days ?? undefined,
                        interval_seconds: data.interval_seconds ?? undefined,
                      },
                    })
                  }
                >
                  {data.enabled ? "Turn off" : "Turn on"}
                </ActionButton>
              }
            >
              Point in time
            </Header>
          }
        >
          <SpaceBetween size="s">
            {set.isError && <ErrorBox error={set.error} />}
            <Figures archive={data} />
          </SpaceBetween>
        </Container>
      )}
    </QueryView>
  );
}

function Figures({ archive }: { archive: LogArchive }) {
  if (!archive.enabled && archive.restorable.length === 0) {
    return <Box color="text-body-secondary">Commit logs are not archived: only backups can be restored.</Box>;
  }
  return (
    <KeyValuePairs
      columns={3}
      items={[
        { label: "State", value: <State archive={archive} /> },
        { label: "Stored", value: formatBytes(archive.stored_bytes) },
        {
          label: "Moments that can be restored (UTC)",
          value:
            archive.restorable.length === 0 ? (
              "None yet: a complete backup has to be made while the archive is on."
            ) : (
              <ul>
                {archive.restorable.map(({ backup_id, begins_at, ends_at }) => (
                  <li key={backup_id}>
                    {utcText(begins_at)} to {utcText(ends_at)}
                  </li>
                ))}
              </ul>
            ),
        },
      ]}
    />
  );
}

function State({ archive }: { archive: LogArchive }) {
  if (!archive.enabled) return <StatusIndicator type="stopped">Off</StatusIndicator>;
  const troubled = archive.nodes.find(({ problem }) => problem);
  if (troubled) {
    return (
      <StatusIndicator type="error">
        {troubled.name}: {troubled.problem}
      </StatusIndicator>
    );
  }
  if (archive.lag_seconds === null) return <StatusIndicator type="pending">Beginning</StatusIndicator>;
  const gaps = archive.nodes.reduce((sum, { gaps }) => sum + gaps.length, 0);
  const behind = `On, ${formatDuration(archive.lag_seconds)} behind`;
  return gaps === 0 ? (
    <StatusIndicator type="success">{behind}</StatusIndicator>
  ) : (
    <StatusIndicator type="warning">
      {behind}; {gaps === 1 ? "a node has a gap" : `nodes have ${gaps} gaps`}
    </StatusIndicator>
  );
}
