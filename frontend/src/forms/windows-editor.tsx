import Button from "@cloudscape-design/components/button";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Multiselect from "@cloudscape-design/components/multiselect";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import type { ApiError, MaintenanceWindow } from "../api";
import { parseDates, timeZones, WEEKDAYS } from "../util/windows";

const DAYS = WEEKDAYS.map((day) => ({ value: day, label: day.charAt(0).toUpperCase() + day.slice(1) }));

/** Windows in which work may be begun: any number of them; `error` is what the API said against field `windows`. */
export function WindowsEditor({
  windows,
  error,
  onChange,
}: {
  windows: MaintenanceWindow[];
  error: ApiError | undefined;
  onChange: (windows: MaintenanceWindow[]) => void;
}) {
  return (
    <SpaceBetween size="l">
      {windows.map((window, at) => (
        <WindowFields
          // biome-ignore lint/suspicious/noArrayIndexKey: a window has no name; its place is what tells it apart
          key={at}
          window={window}
          at={at}
          wrong={(field) => error?.fields[`windows.${at}.${field}`]}
          change={(changes) => onChange(windows.map((each, index) => (index === at ? { ...each, ...changes } : each)))}
        >
          <Button
            ariaLabel={`Remove window ${at + 1}`}
            onClick={() => onChange(windows.filter((_, index) => index !== at))}
          >
            Remove
          </Button>
        </WindowFields>
      ))}
      <Button iconName="add-plus" onClick={() => onChange([...windows, usualWindow()])}>
        Add window
      </Button>
    </SpaceBetween>
  );
}

function WindowFields({
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

function usualWindow(): MaintenanceWindow {
  return {
    weekdays: ["sunday"],
    starts_at: "02:00",
    minutes: 240,
    time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC",
    excluded_dates: [],
  };
}
