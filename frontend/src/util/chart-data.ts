import type { MetricChart } from "../api";
import { formatMetric } from "./metric-units";

/** The rows that are drawn: as they are, or each upon those before it. Where nothing is known there stays a gap. */
export function drawnRows({ series, stacked }: MetricChart): (number | null)[][] {
  if (!stacked) return series.map(({ values }) => values);
  let below: (number | null)[] | undefined;
  return series.map(({ values }) => {
    const row = values.map((value, index) => {
      const under = below?.[index] ?? null;
      return value === null ? under : value + (under ?? 0);
    });
    below = row;
    return row;
  });
}

/** What each line says at a point. */
export function valuesAt({ series, unit }: MetricChart, index: number): { name: string; text: string }[] {
  return series.map(({ name, values }) => ({ name, text: formatMetric(values[index], unit) }));
}

/** A moment in full, in the reader's own zone. */
export function fullTime(seconds: number): string {
  return new Date(seconds * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

const DAY = 86_400;

/** Under an axis whose marks are so many seconds apart. */
export function axisTime(seconds: number, apart: number): string {
  const moment = new Date(seconds * 1000);
  const isMidnight = moment.getHours() === 0 && moment.getMinutes() === 0;
  if (apart >= DAY || isMidnight) return moment.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return moment.toLocaleTimeString("en-GB", {
    hour: "2-digit",
    minute: "2-digit",
    ...(apart < 60 && { second: "2-digit" }),
  });
}
