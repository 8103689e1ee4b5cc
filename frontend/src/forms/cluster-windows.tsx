import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import Multiselect from "@cloudscape-design/components/multiselect";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  type Cluster,
  type MaintenanceWindow,
  type MaintenanceWindows,
  maintenanceWindowsQuery,
  refresh,
  setMaintenanceWindowsMutation,
  toApiError,
} from "../api";
import { ActionButton } from "../components/action-button";
import { ErrorBox } from "../components/error-box";
import { Moment } from "../components/moment";
import { QueryView } from "../components/query-view";
import { toast } from "../hooks/use-toasts";
import { parseDates, timeZones, WEEKDAYS } from "../util/windows";

const DAYS = WEEKDAYS.map((day) => ({ value: day, label: day.charAt(0).toUpperCase() + day.slice(1) }));

/** When automatic work that can wait may be done. */
export function ClusterWindowsForm({ cluster }: { cluster: Cluster }) {
  const windows = useQuery(maintenanceWindowsQuery(cluster.id));
  return (
    <QueryView query={windows} lines={3}>
      {(data) => <Windows key={JSON.stringify(data.windows)} cluster={cluster} saved={data} />}
    </QueryView>
  );
}

function Windows({ cluster, saved }: { cluster: Cluster; saved: MaintenanceWindows }) {
  const [windows, setWindows] = useState(saved.windows);
  const save = useMutation({
    ...setMaintenanceWindowsMutation(),
    onSuccess: () => {
      toast({ type: "success", content: "Saved." });
      return refresh();
    },
  });
  const error = save.isError ? toApiError(save.error, undefined) : undefined;
  const change = (at: number, changes: Partial<MaintenanceWindow>) =>
    setWindows(windows.map((each, index) => (index === at ? { ...each, ...changes } : each)));
  return (
    <Container
      header={
        <Header
          variant="h2"
          description="Work that can wait, such as renewing certificates, is begun only then. Broken nodes are mended at any time."
          actions={
            <ActionButton
              ariaLabel="Save maintenance windows"
              action="update_cluster"
              allowed={cluster.allowed_actions}
              loading={save.isPending}
              onClick={() => save.mutate({ path: { cluster_id: cluster.id }, body: { windows } })}
            >
              Save
            </ActionButton>
          }
        >
          Maintenance windows
        </Header>
      }
    >
      <SpaceBetween size="l">
        {error && <ErrorBox error={error} />}
        {windows.length === 0 ? (
          <Box color="text-body-secondary">No windows: automatic work may be done at any time.</Box>
        ) : (
          <Box color="text-body-secondary">
            {saved.open_now ? (
              "A window is open now."
            ) : (
              <>
                The next one opens: <Moment at={saved.next_opening} />
              </>
            )}
          </Box>
        )}
        {windows.map((window, at) => (
          <WindowFields
            // biome-ignore lint/suspicious/noArrayIndexKey: a window has no name; its place is what tells it apart
            key={at}
            window={window}
            at={at}
            wrong={(field) => error?.fields[`windows.${at}.${field}`]}
            change={(changes) => change(at, changes)}
          >
            <Button
              ariaLabel={`Remove window ${at + 1}`}
              onClick={() => setWindows(windows.filter((_, index) => index !== at))}
            >
              Remove
            </Button>
          </WindowFields>
        ))}
        <Button iconName="add-plus" onClick={() => setWindows([...windows, usualWindow()])}>
          Add window
        </Button>
      </SpaceBetween>
    </Container>
  );
}

export function WindowFields({
  window,
  at,
  wrong,
  change,
  children,
}: {
  window: MaintenanceWindow;
  at: number;
  /** What the API says against a field. */
  wrong: (field: keyof MaintenanceWindow) => string | undefined;
  change: (changes: Partial<MaintenanceWindow>) => void;
  children: React.ReactNode;
}) {
  const [excluded, setExcluded] = useState((window.excluded_dates ?? []).join(", "));
  const zones = timeZones(window.time_zone).map((zone) => ({ value: zone, label: zone }));
  const name = `of window ${at + 1}`;
  return (
    <SpaceBetween size="s">
      <ColumnLayout columns={4}>
        <FormField label="Begins on" errorText={wrong("weekdays")}>
          <Multiselect
            ariaLabel={`Weekdays ${name}`}
            selectedOptions={DAYS.filter(({ value }) => window.weekdays.includes(value))}
            options={DAYS}
            tokenLimit={3}
            placeholder="Choose days"
            onChange={({ detail }) =>
              change({ weekdays: WEEKDAYS.filter((day) => detail.selectedOptions.some(({ value }) => value === day)) })
            }
          />
        </FormField>
        <FormField label="At" errorText={wrong("starts_at")}>
          <Input
            ariaLabel={`Time ${name}`}
            value={window.starts_at.slice(0, 5)}
            placeholder="02:00"
            onChange={({ detail }) => change({ starts_at: detail.value })}
          />
        </FormField>
        <FormField label="Minutes" errorText={wrong("minutes")}>
          <Input
            ariaLabel={`Minutes ${name}`}
            type="number"
            inputMode="numeric"
            value={String(window.minutes)}
            onChange={({ detail }) => change({ minutes: Number(detail.value) })}
          />
        </FormField>
        <FormField label="Time zone" errorText={wrong("time_zone")}>
          <Select
            ariaLabel={`Time zone ${name}`}
            filteringType="auto"
            selectedOption={zones.find(({ value }) => value === window.time_zone) ?? null}
            options={zones}
            onChange={({ detail }) => change({ time_zone: detail.selectedOption.value ?? "UTC" })}
          />
        </FormField>
      </ColumnLayout>
      <FormField
        label="Not on"
        description="Dates, separated by commas: 2026-12-24, 2026-12-31"
        errorText={wrong("excluded_dates")}
      >
        <Input
          ariaLabel={`Excluded dates ${name}`}
          value={excluded}
          onChange={({ detail }) => {
            setExcluded(detail.value);
            change({ excluded_dates: parseDates(detail.value) });
          }}
        />
      </FormField>
      {children}
    </SpaceBetween>
  );
}

export function usualWindow(): MaintenanceWindow {
  return {
    weekdays: ["sunday"],
    starts_at: "02:00",
    minutes: 240,
    time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC",
    excluded_dates: [],
  };
}
