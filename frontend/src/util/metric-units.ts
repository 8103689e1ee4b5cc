import type { MetricChart } from "../api";
import { formatBytes } from "./size";

export type MetricUnit = MetricChart["unit"];

/** A value as it is read: three significant digits, in the unit that suits its size. Nothing: a dash. */
export function formatMetric(value: number | null | undefined, unit: MetricUnit): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  switch (unit) {
    case "seconds":
      return formatSeconds(value);
    case "bytes":
      return formatBytes(value);
    case "bytes per second":
      return `${formatBytes(value)}/s`;
    case "per second":
      return `${formatCount(value)}/s`;
    case "ratio":
      return `${(value * 100).toLocaleString("en", { maximumFractionDigits: value < 0.1 ? 2 : 1 })} %`;
    case "count":
      return formatCount(value);
  }
}

function formatSeconds(seconds: number): string {
  if (seconds === 0) return "0 s";
  const size = Math.abs(seconds);
  if (size < 0.000_999_5) return `${digits(seconds * 1e6)} µs`;
  if (size < 0.999_5) return `${digits(seconds * 1e3)} ms`;
  return size < 120 ? `${digits(seconds)} s` : `${digits(seconds / 60)} min`;
}

function formatCount(value: number): string {
  const size = Math.abs(value);
  if (size >= 999_500_000) return `${digits(value / 1e9)} G`;
  if (size >= 999_500) return `${digits(value / 1e6)} M`;
  if (size >= 9_995) return `${digits(value / 1e3)} k`;
  return digits(value);
}

function digits(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: Math.abs(value) >= 1000 ? 4 : 3 });
}

/** How old a number is: "12 s old". */
export function formatNumberAge(seconds: number): string {
  if (seconds < 120) return `${Math.max(0, Math.round(seconds))} s old`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min old`;
  return `${Math.floor(seconds / 3600)} h old`;
}
