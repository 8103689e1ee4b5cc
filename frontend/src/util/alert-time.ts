import type { DateRangePickerProps } from "@cloudscape-design/components/date-range-picker";

/** From when to when history is asked for; what is left out is open. */
export interface AlertTime {
  from?: string;
  to?: string;
}

const DAYS: Record<string, number> = { day: 1, week: 7, month: 30, year: 365 };
const SECONDS: Record<string, number> = { second: 1, minute: 60, hour: 3600 };

/** As the API takes it. What ends now has no end, so that what begins meanwhile is in it. */
export function alertTime(value: DateRangePickerProps.Value | null, now: number): AlertTime {
  if (value === null) return {};
  if (value.type === "absolute")
    return { from: new Date(value.startDate).toISOString(), to: new Date(value.endDate).toISOString() };
  const unit = SECONDS[value.unit] ?? (DAYS[value.unit] ?? 1) * 86_400;
  return { from: new Date(now - value.amount * unit * 1000).toISOString() };
}

/** Why a range cannot be asked for; undefined: it can. */
export function againstTime(value: DateRangePickerProps.Value | null): string | undefined {
  if (value === null) return undefined;
  if (value.type === "relative") return value.amount > 0 ? undefined : "Longer than nothing.";
  const [from, to] = [Date.parse(value.startDate), Date.parse(value.endDate)];
  if (Number.isNaN(from) || Number.isNaN(to)) return "Choose both a beginning and an end.";
  return from < to ? undefined : "It ends before it begins.";
}
