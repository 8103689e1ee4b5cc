import Box from "@cloudscape-design/components/box";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import Slider from "@cloudscape-design/components/slider";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Toggle from "@cloudscape-design/components/toggle";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type Cluster, type RepairSchedule, refresh, setRepairScheduleMutation, toApiError } from "../api";
import { ActionButton } from "../components/action-button";
import { ErrorBox } from "../components/error-box";
import { Moment } from "../components/moment";
import { OpeningsCalendar } from "../components/openings-calendar";
import { useNow } from "../hooks/use-now";
import { toast } from "../hooks/use-toasts";
import { WindowsEditor } from "./windows-editor";

/** When a cluster is repaired, how hard, and in which windows. What is saved holds at once, for a run that goes on, too. */
export function RepairScheduleForm({ cluster, saved }: { cluster: Cluster; saved: RepairSchedule }) {
  const [enabled, setEnabled] = useState(saved.enabled);
  const [every, setEvery] = useState(String(saved.every_hours));
  const [intensity, setIntensity] = useState(saved.intensity);
  const [parallelism, setParallelism] = useState(String(saved.parallelism));
  const [target, setTarget] = useState(String(saved.read_p99_target_ms ?? ""));
  const now = useNow(60_000);
  const [windows, setWindows] = useState(saved.windows);
  const save = useMutation({
    ...setRepairScheduleMutation(),
    onSuccess: () => {
      toast({ type: "success", content: "Saved. It holds at once." });
      return refresh();
    },
  });
  const error = save.isError ? toApiError(save.error, undefined) : undefined;
  return (
    <Container
      header={
        <Header
          variant="h2"
          description="Replicas are compared and made equal, so that what was deleted stays deleted."
          actions={
            <ActionButton
              ariaLabel="Save the schedule of repairs"
              action="update_cluster"
              allowed={cluster.allowed_actions}
              loading={save.isPending}
              onClick={() =>
                save.mutate({
                  path: { cluster_id: cluster.id },
                  body: {
                    enabled,
                    every_hours: Number(every),
                    intensity,
                    parallelism: Number(parallelism),
                    read_p99_target_ms: Number(target),
                    windows,
                  },
                })
              }
            >
              Save
            </ActionButton>
          }
        >
          Schedule
        </Header>
      }
    >
      <SpaceBetween size="l">
        {error && <ErrorBox error={error} />}
        <Toggle checked={enabled} onChange={({ detail }) => setEnabled(detail.checked)}>
          Repair by itself
        </Toggle>
        <FormField
          label="Intensity"
          description="Share of its time that a node may work for repairs. It also sets how fast nodes send."
          errorText={error?.fields.intensity}
        >
          <Slider
            ariaLabel="Intensity"
            min={1}
            max={100}
            value={intensity}
            valueFormatter={(value) => `${value} %`}
            onChange={({ detail }) => setIntensity(detail.value)}
          />
        </FormField>
        <ColumnLayout columns={3}>
          <FormField label="Hours between runs" errorText={error?.fields.every_hours}>
            <Input type="number" inputMode="numeric" value={every} onChange={({ detail }) => setEvery(detail.value)} />
          </FormField>
          <FormField
            label="Segments at once"
            description="0: as many as the ring allows"
            errorText={error?.fields.parallelism}
          >
            <Input
              type="number"
              inputMode="numeric"
              value={parallelism}
              onChange={({ detail }) => setParallelism(detail.value)}
            />
          </FormField>
          <FormField
            label="Slow down above"
            description="Milliseconds of one read in a hundred; empty: never"
            errorText={error?.fields.read_p99_target_ms}
          >
            <Input
              type="number"
              inputMode="decimal"
              value={target}
              onChange={({ detail }) => setTarget(detail.value)}
            />
          </FormField>
        </ColumnLayout>
        <Box color="text-body-secondary">
          {windows.length === 0 ? (
            "No windows: repairs run at any time."
          ) : saved.open_now ? (
            "A window is open now."
          ) : (
            <>
              The next window opens: <Moment at={saved.next_opening} />
            </>
          )}
        </Box>
        <OpeningsCalendar openings={saved.openings} now={now} />
        <WindowsEditor windows={windows} error={error} onChange={setWindows} />
      </SpaceBetween>
    </Container>
  );
}
