import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import RadioGroup from "@cloudscape-design/components/radio-group";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import {
  type BackupSchedule,
  type BackupScheduleOrder,
  type Cluster,
  type ClusterBackups,
  createBackupScheduleMutation,
  refresh,
  replaceBackupScheduleMutation,
  toApiError,
} from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { choice } from "./backup-create";
import { LocationField } from "./location-field";
import { TableChoiceField } from "./table-choice-field";

interface Values {
  name: string;
  kind: "cron" | "interval";
  cron: string;
  hours: string;
  zone: string;
  days: string;
  count: string;
  lock: string;
}

/** When backups are made and how long they are kept. `schedule`: the one to change; none: a new one. */
export function BackupScheduleModal({
  cluster,
  overview,
  schedule,
  onDismiss,
}: {
  cluster: Cluster;
  overview: ClusterBackups;
  schedule: BackupSchedule | null;
  onDismiss: () => void;
}) {
  const [values, setValues] = useState<Values>(() => initial(schedule));
  const [selection, setSelection] = useState<string[]>(
    () => schedule?.selection.map(({ keyspace, table }) => (table ? `${keyspace}.${table}` : keyspace)) ?? [],
  );
  const [location, setLocation] = useState<string | null>(schedule?.location_id ?? null);
  const [second, setSecond] = useState<string | null>(schedule?.second_location_id ?? null);
  const done = () => {
    onDismiss();
    return refresh();
  };
  const create = useMutation({ ...createBackupScheduleMutation(), onSuccess: done });
  const replace = useMutation({ ...replaceBackupScheduleMutation(), onSuccess: done });
  const used = schedule ? replace : create;
  const error = used.isError ? toApiError(used.error, undefined) : undefined;
  const field = (name: keyof Values, label: string, placeholder: string, api: string, description?: string) => (
    <FormField label={label} description={description} errorText={error?.fields[api]}>
      <Input
        value={values[name]}
        placeholder={placeholder}
        autoComplete={false}
        spellcheck={false}
        onChange={({ detail }) => setValues({ ...values, [name]: detail.value })}
      />
    </FormField>
  );
  const body = order(values, selection, location, second, schedule);
  const missing =
    values.name.trim() === ""
      ? "Give it a name."
      : values.days.trim() === "" && values.count.trim() === ""
        ? "Say what is kept: days, a number of backups, or both."
        : undefined;
  return (
    <ConfirmModal
      title={schedule ? `Change the schedule ${schedule.name}` : "Back up on schedule"}
      confirm={schedule ? "Change" : "Create"}
      isPending={used.isPending}
      error={used.error}
      disabledReason={missing}
      onConfirm={() =>
        schedule
          ? replace.mutate({ path: { cluster_id: cluster.id, schedule_id: schedule.id }, body })
          : create.mutate({ path: { cluster_id: cluster.id }, body })
      }
      onDismiss={onDismiss}
    >
      {field("name", "Name", "nightly", "name")}
      <RadioGroup
        ariaLabel="When"
        value={values.kind}
        items={[
          { value: "cron", label: "At certain times" },
          { value: "interval", label: "Every so many hours" },
        ]}
        onChange={({ detail }) => setValues({ ...values, kind: detail.value as Values["kind"] })}
      />
      {values.kind === "cron" ? (
        <SpaceBetween size="m">
          {field("cron", "Times, as cron writes them", "30 2 * * *", "cron", "Minute, hour, day, month, weekday.")}
          {field("zone", "Time zone", "Europe/Vienna", "time_zone")}
        </SpaceBetween>
      ) : (
        field("hours", "Hours", "6", "interval_minutes")
      )}
      <TableChoiceField tables={overview.tables} value={selection} onChange={setSelection} />
      <LocationField value={location} onChange={setLocation} />
      {field("days", "Keep for (days)", "30", "keep_days", "The last complete backup stays in any case.")}
      {field("count", "Keep at most (complete backups)", "", "keep_count")}
      <LocationField
        label="Copy to"
        description="Complete backups are copied there; a restore takes what is damaged from the copy."
        none="Nowhere"
        value={second}
        errorText={error?.fields.second_location_id}
        onChange={setSecond}
      />
      {field("lock", "Lock for (days)", "", "lock_days", "Nobody may delete a backup before. Empty: not locked.")}
    </ConfirmModal>
  );
}

function initial(schedule: BackupSchedule | null): Values {
  return {
    name: schedule?.name ?? "nightly",
    kind: schedule?.interval_minutes ? "interval" : "cron",
    cron: schedule?.cron ?? "30 2 * * *",
    hours: String((schedule?.interval_minutes ?? 360) / 60),
    zone: schedule?.time_zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    days: schedule ? String(schedule.keep_days ?? "") : "30",
    count: String(schedule?.keep_count ?? ""),
    lock: String(schedule?.lock_days ?? ""),
  };
}

function order(
  values: Values,
  selection: string[],
  location: string | null,
  second: string | null,
  schedule: BackupSchedule | null,
): BackupScheduleOrder {
  const number = (text: string) => (text.trim() === "" ? null : Number(text));
  return {
    name: values.name.trim(),
    cron: values.kind === "cron" ? values.cron.trim() : null,
    interval_minutes: values.kind === "interval" ? Math.round(Number(values.hours) * 60) : null,
    time_zone: values.zone.trim(),
    selection: selection.map(choice),
    keep_days: number(values.days),
    keep_count: number(values.count),
    location_id: location,
    second_location_id: second,
    lock_days: number(values.lock),
    keep_after_deletion_days: schedule?.keep_after_deletion_days ?? 30,
    rate_mib_per_second: schedule?.rate_mib_per_second ?? null,
    enabled: schedule?.enabled ?? true,
  };
}
