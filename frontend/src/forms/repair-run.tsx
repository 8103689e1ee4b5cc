import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Checkbox from "@cloudscape-design/components/checkbox";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import Modal from "@cloudscape-design/components/modal";
import SegmentedControl from "@cloudscape-design/components/segmented-control";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Cluster, planRepairQuery, refresh, runRepairMutation } from "../api";
import { ErrorBox } from "../components/error-box";
import { Moment } from "../components/moment";
import { QueryView } from "../components/query-view";
import { formatDuration } from "../util/duration";
import { count, formatBytes } from "../util/size";

type Choice = "auto" | "full";

/** What a run would come to, and its start. */
export function RepairRunModal({ cluster, onDismiss }: { cluster: Cluster; onDismiss: () => void }) {
  const [mode, setMode] = useState<Choice>("auto");
  const [anyTime, setAnyTime] = useState(false);
  const body = { mode, any_time: anyTime };
  const plan = useQuery(planRepairQuery(cluster.id, body));
  const run = useMutation({
    ...runRepairMutation(),
    onSuccess: () => {
      onDismiss();
      return refresh();
    },
  });
  return (
    <Modal
      visible
      header="Repair now"
      closeAriaLabel="Close"
      onDismiss={onDismiss}
      footer={
        <Box float="right">
          <SpaceBetween direction="horizontal" size="xs">
            <Button variant="link" onClick={onDismiss}>
              Not now
            </Button>
            <Button
              variant="primary"
              loading={run.isPending}
              onClick={() => run.mutate({ path: { cluster_id: cluster.id }, body })}
            >
              Repair
            </Button>
          </SpaceBetween>
        </Box>
      }
    >
      <SpaceBetween size="m">
        {run.isError && <ErrorBox error={run.error} />}
        <SegmentedControl
          label="What is compared"
          selectedId={mode}
          options={[
            { id: "auto", text: "What is due" },
            { id: "full", text: "Everything" },
          ]}
          onChange={({ detail }) => setMode(detail.selectedId as Choice)}
        />
        <Checkbox checked={anyTime} onChange={({ detail }) => setAnyTime(detail.checked)}>
          Do not wait for a window
        </Checkbox>
        <QueryView query={plan} lines={3}>
          {(data) => (
            <SpaceBetween size="s">
              {data.looked_at === null ? (
                <Box color="text-body-secondary">
                  The nodes have not been asked for their tables yet, so it is not known how long it will take. Asking
                  them is the first thing a run does.
                </Box>
              ) : (
                <KeyValuePairs
                  columns={2}
                  items={[
                    { label: "Tables", value: `${data.tables.length}, ${data.skipped.length} need none` },
                    { label: "Segments", value: data.segments.toLocaleString() },
                    { label: "Data compared", value: formatBytes(data.bytes) },
                    { label: "About", value: formatDuration(data.seconds) },
                    { label: "Begins", value: data.opens_at ? <Moment at={data.opens_at} /> : "Now" },
                    { label: "Done", value: data.ends_at ? <Moment at={data.ends_at} /> : "Not within three months" },
                  ]}
                />
              )}
              {data.late.length > 0 && (
                <Alert type="warning" statusIconAriaLabel="Warning">
                  {count(data.late.length, "table")} would be repaired after their deadline. Raise the intensity, or
                  make windows longer.
                </Alert>
              )}
            </SpaceBetween>
          )}
        </QueryView>
      </SpaceBetween>
    </Modal>
  );
}
